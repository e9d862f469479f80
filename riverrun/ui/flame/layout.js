// Where the boxes of a flame graph stand: the root at the top, what a call called below it.

/** @typedef {import('./tree.js').Call} Call */
/** @typedef {{call: Call, x: number, width: number, faded: boolean}} Box in pixels; faded: outside of what is looked at */

const THINNEST_PX = 0.5;

/**
 * The boxes for a part of the tree that fills the width; the calls that led to it stand above it.
 * @param {Call} focus
 * @param {number} width
 * @returns {Box[]} what is too thin to be seen is left out
 */
export function boxesOf(focus, width) {
  /** @type {Box[]} */
  const boxes = [];
  for (let call = focus.parent; call; call = call.parent) boxes.unshift({ call, x: 0, width, faded: true });
  if (!focus.value) return boxes;
  const scale = width / focus.value;
  /** @type {{call: Call, x: number}[]} */
  const waiting = [{ call: focus, x: 0 }];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { call, x } = next;
    const wide = call.value * scale;
    if (wide < THINNEST_PX) continue;
    boxes.push({ call, x, width: wide, faded: false });
    let end = x + call.children.reduce((sum, child) => sum + child.value, 0) * scale;
    for (const child of call.children.toReversed()) {
      end -= child.value * scale;
      waiting.push({ call: child, x: end });
    }
  }
  return boxes;
}

/** How many rows the boxes take. @param {readonly Box[]} boxes */
export function rowsOf(boxes) {
  return boxes.reduce((most, { call }) => Math.max(most, call.depth + 1), 0);
}

/**
 * Where an arrow key leads to from a call; the same call when there is nothing.
 * @param {Call} from
 * @param {string} key
 * @returns {Call}
 */
export function neighbour(from, key) {
  const beside = from.parent?.children ?? [from];
  const at = beside.indexOf(from);
  switch (key) {
    case 'ArrowUp': return from.parent ?? from;
    case 'ArrowDown': return from.children[0] ?? from;
    case 'ArrowLeft': return beside[at - 1] ?? from;
    case 'ArrowRight': return beside[at + 1] ?? from;
    default: return from;
  }
}

/** As much of a label as fits. @param {string} label @param {number} width @param {number} character */
export function fitting(label, width, character) {
  const room = Math.floor((width - 8) / character);
  if (room < 3) return '';
  return label.length <= room ? label : `${label.slice(0, room - 1)}…`;
}
