// The drawing of a flame graph: boxes that can be hovered, clicked and walked through with the arrow keys.

import { html, classes, useEffect, useMemo, useRef, useState } from '../core/view.js';
import { exact } from '../core/format.js';
import { boxesOf, fitting, neighbour, rowsOf } from './layout.js';
import { callOf, OWNERS, shortName } from './frames.js';
import { share } from './share.js';

const ROW_PX = 21;
const CHARACTER_PX = 6.7;

/** @typedef {import('./tree.js').Call} Call */

/**
 * @param {{
 *   tree: import('./tree.js').Tree, focus: Call, setFocus: (call: Call) => void, found: Set<number> | undefined,
 * }} props
 * focus: the call that fills the width; found: what a search found
 */
export function FlameGraph({ tree, focus, setFocus, found }) {
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const width = useWidth(box);
  const [at, setAt] = useState(focus);
  const [tip, setTip] = useState(/** @type {{call: Call, x: number, y: number} | null} */ (null));
  useEffect(() => setAt(focus), [focus]);
  const current = tree.calls[at.id] === at ? at : focus;
  const boxes = useMemo(() => boxesOf(focus, width), [focus, width]);
  const drawn = useMemo(
    () => boxes.map((each) => html`<${Box} key=${each.call.id} box=${each} state=${stateOf(each, found)} whole=${tree.root.value} />`),
    [boxes, found],
  );
  const callAt = (/** @type {Event} */ event) => {
    const id = /** @type {Element} */ (event.target).closest('[data-call]')?.getAttribute('data-call');
    return id == null ? undefined : tree.calls[Number(id)];
  };
  const zoom = (/** @type {Call | undefined} */ call) => {
    if (!call) return;
    setTip(null);
    setFocus(call);
  };
  const pressed = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === 'Enter' || event.key === ' ') zoom(current);
    else if (event.key === 'Escape' || event.key === 'Home') zoom(tree.root);
    else if (event.key.startsWith('Arrow')) setAt(visible(neighbour(current, event.key), boxes, current));
    else return;
    event.preventDefault();
  };
  return html`<div class="flame" ref=${box}>
    <svg class=${classes('flame-boxes', found && 'searching')} width=${width} height=${rowsOf(boxes) * ROW_PX} role="tree" tabindex="0"
      aria-label="Flame graph: arrow keys go from call to call, Enter looks closer, Escape shows all"
      aria-activedescendant=${`call-${current.id}`} onKeyDown=${pressed}
      onClick=${(/** @type {Event} */ event) => zoom(callAt(event))}
      onMouseMove=${(/** @type {MouseEvent} */ event) => {
        const call = callAt(event);
        setTip(call ? { call, x: event.clientX, y: event.clientY } : null);
      }}
      onMouseLeave=${() => setTip(null)}>
      ${drawn}
      <${Marker} box=${boxes.find(({ call }) => call === current)} />
    </svg>
    <p class="flame-current muted" role="status">${inWords(current, tree.root.value)}</p>
    ${tip && html`<${Tip} ...${tip} whole=${tree.root.value} />`}
  </div>`;
}

/** @param {import('./layout.js').Box} box @param {Set<number> | undefined} found */
function stateOf({ call, faded }, found) {
  return classes(faded && 'faded', found?.has(call.id) && 'found');
}

/** What is too thin to be drawn is not gone to. @param {Call} to @param {import('./layout.js').Box[]} boxes @param {Call} from */
function visible(to, boxes, from) {
  return boxes.some(({ call }) => call === to) ? to : from;
}

/** @param {{box: import('./layout.js').Box, state: string, whole: number}} props */
function Box({ box: { call, x, width }, state, whole }) {
  const label = fitting(shortName(call.name), width, CHARACTER_PX);
  const y = call.depth * ROW_PX;
  return html`<g id=${`call-${call.id}`} data-call=${call.id} class=${classes('flame-box', call.parent ? call.owner : 'whole', state)}
    role="treeitem" aria-level=${call.depth + 1} aria-label=${inWords(call, whole)}>
    <rect x=${x} y=${y} width=${Math.max(0.5, width - 1)} height=${ROW_PX - 1} rx="2" />
    ${label && html`<text x=${x + 4} y=${y + 14.5}>${label}</text>`}
  </g>`;
}

/** Where the arrow keys stand. @param {{box: import('./layout.js').Box | undefined}} props */
function Marker({ box }) {
  if (!box) return null;
  return html`<rect class="flame-marker" aria-hidden="true" x=${box.x + 1} y=${box.call.depth * ROW_PX + 1} width=${Math.max(1, box.width - 3)} height=${ROW_PX - 3} rx="2" />`;
}

/** @param {{call: Call, x: number, y: number, whole: number}} props */
function Tip({ call, x, y, whole }) {
  const { call: name, line } = callOf(call.name);
  const left = Math.max(8, Math.min(x + 14, window.innerWidth - 360));
  return html`<div class="flame-tip" aria-hidden="true" style=${{ left: `${left}px`, top: `${y + 18}px` }}>
    <strong class="mono">${name}</strong>
    ${line !== undefined && html`<span>line ${line}</span>`}
    <span>${timesInWords(call, whole)}</span>
    ${call.parent && html`<span class="muted">${OWNERS[call.owner]}</span>`}
  </div>`;
}

/** @param {Call} call @param {number} whole */
function inWords(call, whole) {
  return `${call.name}: ${timesInWords(call, whole)}`;
}

/** @param {Call} call @param {number} whole */
function timesInWords({ value, own }, whole) {
  return `${exact(value)} ${value === 1 ? 'sample' : 'samples'}, ${share(value, whole)}; itself ${share(own, whole)}`;
}

/** The width of what holds the graph. @param {{current: HTMLElement | null}} box */
function useWidth(box) {
  const [width, setWidth] = useState(960);
  useEffect(() => {
    const node = box.current;
    if (!node) return undefined;
    const look = () => setWidth(Math.max(280, Math.floor(node.clientWidth)));
    const observer = new ResizeObserver(look);
    observer.observe(node);
    look();
    return () => observer.disconnect();
  }, []);
  return width;
}
