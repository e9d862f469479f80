// A profile as a tree with what is asked of it: own times, whose code, parts of it, what matches.

import { callOf, ownerOf } from './frames.js';

/**
 * @typedef {object} Call
 * @property {number} id its place in `calls`
 * @property {Call | undefined} parent
 * @property {Call[]} children
 * @property {number} depth
 * @property {string} name
 * @property {number} value how often it was seen
 * @property {number} own how often it was seen and had called nothing further
 * @property {import('./frames.js').Owner} owner
 */

/** @typedef {{root: Call, calls: Call[], cut: boolean}} Tree cut: frames around the task were left out */

/** @typedef {{name: string, value: number, children: Answered[]}} Answered a node as the interface gives it */

/** @param {Answered} data @param {boolean} [onlyTask] without the frames around riverrun's, and without other threads @returns {Tree} */
export function treeOf(data, onlyTask = false) {
  const parts = onlyTask ? taskParts(data) : [];
  const cut = parts.length > 0;
  const top = cut ? { name: 'the task', value: parts.reduce((sum, part) => sum + part.value, 0), children: merged(parts) } : { ...data, name: 'all threads' };
  /** @type {Call[]} */
  const calls = [];
  const root = grown(top, undefined, false, calls);
  return { root, calls, cut };
}

/** @param {Answered} node @param {Call | undefined} parent @param {boolean} inRiverrun @param {Call[]} calls @returns {Call} */
function grown(node, parent, inRiverrun, calls) {
  const below = node.children.reduce((sum, child) => sum + child.value, 0);
  const owner = parent ? ownerOf(node.name, inRiverrun) : 'python';
  /** @type {Call} */
  const call = {
    id: calls.length, parent, children: [], depth: parent ? parent.depth + 1 : 0,
    name: node.name, value: node.value, own: Math.max(0, node.value - below), owner,
  };
  calls.push(call);
  const largestFirst = [...node.children].sort((a, b) => b.value - a.value || (a.name < b.name ? -1 : 1));
  call.children = largestFirst.map((child) => grown(child, call, inRiverrun || owner === 'riverrun', calls));
  return call;
}

/** The outermost calls of riverrun. @param {Answered} node @returns {Answered[]} */
function taskParts(node) {
  if (node.name.startsWith('riverrun.')) return [node];
  return node.children.flatMap(taskParts);
}

/** @param {Answered[]} nodes @returns {Answered[]} */
function merged(nodes) {
  /** @type {Map<string, Answered[]>} */
  const same = new Map();
  for (const node of nodes) same.set(node.name, [...(same.get(node.name) ?? []), node]);
  return [...same].map(([name, found]) => found.length === 1 ? found[0] : {
    name,
    value: found.reduce((sum, node) => sum + node.value, 0),
    children: merged(found.flatMap((node) => node.children)),
  });
}

/** The calls from the root to this one, it included. @param {Call} call */
export function pathTo(call) {
  const path = [];
  for (let at = /** @type {Call | undefined} */ (call); at; at = at.parent) path.unshift(at);
  return path;
}

/**
 * What a search finds: the calls, and how often one of them was seen.
 * @param {Tree} tree @param {string} text
 * @returns {{found: Set<number>, value: number} | null} null: nothing is searched for
 */
export function matches({ root, calls }, text) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return null;
  const found = new Set(calls.filter((call) => call !== root && call.name.toLowerCase().includes(wanted)).map(({ id }) => id));
  const sum = (/** @type {Call} */ call) => found.has(call.id) ? call.value : sumOver(call.children, sum);
  return { found, value: sum(root) };
}

/** @param {Call[]} calls @param {(call: Call) => number} of */
function sumOver(calls, of) {
  return calls.reduce((total, call) => total + of(call), 0);
}

/** @typedef {{call: string, owner: import('./frames.js').Owner, own: number, total: number}} Cost */

/** What each function costs, wherever it was called from; one that calls itself is not counted twice.
 * @param {Tree} tree @returns {Cost[]} the most own time first */
export function costs({ root }) {
  /** @type {Map<string, Cost>} */
  const found = new Map();
  const walk = (/** @type {Call} */ call, /** @type {ReadonlySet<string>} */ above) => {
    const { call: name } = callOf(call.name);
    let inside = above;
    if (call !== root) {
      const cost = found.get(name) ?? { call: name, owner: call.owner, own: 0, total: 0 };
      cost.own += call.own;
      if (!above.has(name)) cost.total += call.value;
      found.set(name, cost);
      inside = new Set(above).add(name);
    }
    for (const child of call.children) walk(child, inside);
  };
  walk(root, new Set());
  return [...found.values()].sort((a, b) => b.own - a.own || b.total - a.total || (a.call < b.call ? -1 : 1));
}
