// Where the boxes and edges of a plan are drawn: from left to right, in columns. Nothing that changes while a
// job runs has a say in it, so a drawing stays as it is until the plan changes.

import { Graph, layout } from '../vendor/dagre.js';
import { chainOf } from './chain.js';

const BOX_WIDTH = 252;
const MOST_LINES = 8;
const HEAD = 34;
const LINE = 19;
const FIGURES = 92;
const FOOT = 10;
const MARGIN = 16;
const BETWEEN_BOXES = 28;
const BETWEEN_EDGES = 22;
const BETWEEN_COLUMNS = 64;
const LETTER = 6.4;
const LONGEST_LABEL = 26;

/**
 * @typedef {{x: number, y: number}} Point
 * @typedef {object} Box
 * @property {string} id
 * @property {number} x of its left side
 * @property {number} y of its top
 * @property {number} width
 * @property {number} height
 * @property {number} parallelism
 * @property {import('./chain.js').ChainLine[]} lines its operators; the last ones may be left out
 * @property {number} more how many operators are left out
 * @property {string} title all its operators
 *
 * @typedef {object} Edge
 * @property {string} key
 * @property {string} from
 * @property {string} to
 * @property {string} path of an SVG
 * @property {Point[]} points that the path goes through
 * @property {Point} label the middle of its words
 * @property {string} strategy
 * @property {string | undefined} sideOutput
 *
 * @typedef {{width: number, height: number, boxes: Box[], edges: Edge[]}} Drawing
 */

/** Plans with the same key are drawn alike. @param {any} plan */
export function shapeOf(plan) {
  return JSON.stringify(nodesOf(plan).map((node) => [node.id, node.parallelism, node.description, node.operators, node.inputs]));
}

/**
 * @param {any} plan as GET /jobs/{id}/plan gives it
 * @param {{figures?: boolean}} [options] whether boxes have room for what the vertices do
 * @returns {Drawing}
 */
export function drawingOf(plan, { figures = false } = {}) {
  const boxes = nodesOf(plan).map((node) => boxOf(node, figures));
  const connections = connectionsOf(plan);
  const graph = new Graph({ multigraph: true });
  graph.setGraph({
    rankdir: 'LR', marginx: MARGIN, marginy: MARGIN,
    nodesep: BETWEEN_BOXES, edgesep: BETWEEN_EDGES, ranksep: BETWEEN_COLUMNS,
  });
  for (const box of boxes) graph.setNode(box.id, { width: box.width, height: box.height });
  for (const each of connections) graph.setEdge(each.from, each.to, { ...labelSize(each), labelpos: 'c' }, each.key);
  layout(graph);
  for (const box of boxes) {
    const { x, y } = graph.node(box.id);
    box.x = Number(x) - box.width / 2;
    box.y = Number(y) - box.height / 2;
  }
  const places = new Map(boxes.map((box) => [box.id, box]));
  const columns = [...new Set(boxes.map((box) => box.x))];
  const edges = connections.map((each) => {
    const found = graph.edge(each.from, each.to, each.key);
    return edgeOf(each, found, /** @type {Box} */ (places.get(each.from)), /** @type {Box} */ (places.get(each.to)), columns);
  });
  const { width = 0, height = 0 } = boxes.length ? graph.graph() : {};
  return { width: Number(width), height: Number(height), boxes, edges };
}

/** @param {any} plan @returns {any[]} */
function nodesOf(plan) {
  return plan?.nodes ?? [];
}

/** @param {any} node @param {boolean} figures @returns {Box} */
function boxOf(node, figures) {
  const chain = chainOf(node);
  const shown = chain.length > MOST_LINES ? chain.slice(0, MOST_LINES - 1) : chain;
  const more = chain.length - shown.length;
  const lines = Math.max(1, shown.length + (more ? 1 : 0));
  const height = HEAD + (lines - 1) * LINE + (figures ? FIGURES : 0) + FOOT;
  return {
    id: node.id, x: 0, y: 0, width: BOX_WIDTH, height, parallelism: node.parallelism,
    lines: shown, more, title: chain.map(({ name }) => name).join(' → '),
  };
}

/**
 * @typedef {{key: string, from: string, to: string, strategy: string, sideOutput: string | undefined}} Connection
 * @param {any} plan
 * @returns {Connection[]}
 */
function connectionsOf(plan) {
  const known = new Set(nodesOf(plan).map(({ id }) => id));
  return nodesOf(plan).flatMap((node) => (node.inputs ?? [])
    .filter((/** @type {any} */ input) => known.has(input.id))
    .map((/** @type {any} */ input, /** @type {number} */ at) => ({
      key: `${input.id}>${node.id}#${at}`, from: input.id, to: node.id,
      strategy: input.ship_strategy ?? '', sideOutput: input.side_output,
    })));
}

/** What is written on an edge. @param {{strategy: string, sideOutput: string | undefined}} edge @returns {string[]} */
export function labelLines({ strategy, sideOutput }) {
  const lines = strategy ? [strategy.toLowerCase()] : [];
  if (sideOutput !== undefined) lines.push(cut(`side output: ${sideOutput}`, LONGEST_LABEL));
  return lines;
}

/** @param {string} text @param {number} most */
function cut(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** @param {Connection} edge */
function labelSize(edge) {
  const lines = labelLines(edge);
  if (!lines.length) return { width: 0, height: 0 };
  return { width: Math.max(...lines.map((line) => line.length)) * LETTER + 12, height: lines.length * 15 + 4 };
}

/**
 * An edge goes straight through columns, in the row that was kept free for it, and bends between them only:
 * so it meets no box.
 * @param {Connection} connection
 * @param {any} found what the layout says: points, and the place of the label
 * @param {Box} from
 * @param {Box} to
 * @param {number[]} columns the left sides of the boxes in each
 * @returns {Edge}
 */
function edgeOf(connection, found, from, to, columns) {
  const start = { x: from.x + from.width, y: from.y + from.height / 2 };
  const end = { x: to.x, y: to.y + to.height / 2 };
  /** @type {Point[]} */
  const points = [start];
  for (const { x, y } of found.points.slice(1, -1)) {
    const column = columns.find((left) => Math.abs(left + BOX_WIDTH / 2 - x) < 1);
    const half = column !== undefined ? BOX_WIDTH / 2 + 8 : Math.abs(x - found.x) < 1 ? found.width / 2 : undefined;
    if (half === undefined || x - half < start.x || x + half > end.x) continue;
    points.push({ x: x - half, y }, { x: x + half, y });
  }
  points.push(end);
  const { key, strategy, sideOutput } = connection;
  return { key, from: from.id, to: to.id, path: pathOf(points), points, label: { x: found.x, y: found.y }, strategy, sideOutput };
}

/** A smooth line through the points. @param {Point[]} points */
function pathOf(points) {
  const [first, ...rest] = points;
  let before = first;
  let path = `M${short(first.x)} ${short(first.y)}`;
  for (const point of rest) {
    const middle = short((before.x + point.x) / 2);
    path += before.y === point.y
      ? `H${short(point.x)}`
      : `C${middle} ${short(before.y)} ${middle} ${short(point.y)} ${short(point.x)} ${short(point.y)}`;
    before = point;
  }
  return path;
}

/** @param {number} value */
function short(value) {
  return Math.round(value * 10) / 10;
}
