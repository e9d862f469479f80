import assert from 'node:assert/strict';
import test from 'node:test';

import { chainOf, shortName } from '../../../riverrun/ui/graph/chain.js';
import { drawingOf, labelLines, shapeOf } from '../../../riverrun/ui/graph/layout.js';
import { atFirst, fitting, keeping, LARGEST, SMALLEST, stepped, within } from '../../../riverrun/ui/graph/zoom.js';

const node = (id, inputs = [], facts = {}) => ({
  id, parallelism: 1, description: id, inputs: inputs.map((from) => ({ id: from, ship_strategy: 'HASH' })), ...facts,
});

/** As tests/ui/jobs/shop.py: two branches that meet again. */
const DIAMOND = {
  nodes: [
    node('orders', [], { description: 'Source: orders -> check -> odd -> Sink: odd orders' }),
    node('totals', ['orders']),
    node('windows', ['orders']),
    node('deliver', ['totals', 'windows'], { description: 'deliver -> failed deliveries -> Sink: failures' }),
  ],
};

/** As tests/ui/jobs/long_chain.py. */
function longChain(layers = 17) {
  const nodes = [node('numbers')];
  let last = ['numbers'];
  for (let n = 0; n < layers; n += 1) {
    nodes.push(node(`left ${n}`, last, { description: `left ${n} -> keep left ${n}` }));
    if (n % 3 === 0) {
      nodes.push(node(`right ${n}`, last, { description: `right ${n} -> keep right ${n}` }));
      last = [`left ${n}`, `right ${n}`];
    } else {
      nodes.push(node(`pass ${n}`, [`left ${n}`]));
      last = [`pass ${n}`];
    }
  }
  return { nodes: [...nodes, node('last', last, { description: 'last -> Filter -> Sink: end' })] };
}

/** Numbers that are the same in every run (mulberry32). */
function numbers(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

function anyPlan(seed) {
  const random = numbers(seed);
  const size = 1 + Math.floor(random() * 24);
  const nodes = [];
  for (let n = 0; n < size; n += 1) {
    const inputs = [];
    const wanted = n === 0 || random() < 0.15 ? 0 : 1 + Math.floor(random() * 3);
    for (let k = 0; k < wanted; k += 1) {
      const far = random() < 0.3 ? n : Math.min(n, 4);
      inputs.push(`v${n - 1 - Math.floor(random() * far)}`);
    }
    const operators = Array.from({ length: 1 + Math.floor(random() * 12) }, (_, at) => ({ name: `op ${at}`, parent: at ? at - 1 : null }));
    nodes.push(node(`v${n}`, inputs, { operators }));
    for (const input of nodes[n].inputs) if (random() < 0.2) input.side_output = 'x'.repeat(Math.floor(random() * 40));
  }
  return { nodes };
}

function overlap(a, b) {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

/** Points along the curves that the path draws. */
function* along({ points }) {
  for (let at = 1; at < points.length; at += 1) {
    const [p, q] = [points[at - 1], points[at]];
    for (let step = 0; step <= 20; step += 1) {
      const t = step / 20;
      const bend = t * t * (3 - 2 * t);
      yield { x: p.x + (q.x - p.x) * (1.5 * t - 1.5 * t * t + t ** 3), y: p.y + (q.y - p.y) * bend };
    }
  }
}

/** What must be true of every drawing. */
function check(plan, options) {
  const drawing = drawingOf(plan, options);
  const { boxes, edges, width, height } = drawing;
  assert.deepEqual(boxes.map(({ id }) => id), plan.nodes.map(({ id }) => id));
  assert.equal(edges.length, plan.nodes.reduce((sum, { inputs }) => sum + inputs.length, 0));
  for (const [at, box] of boxes.entries()) {
    assert.ok(box.x >= 0 && box.y >= 0 && box.x + box.width <= width + 0.1 && box.y + box.height <= height + 0.1, `${box.id} is outside`);
    for (const other of boxes.slice(at + 1)) assert.ok(!overlap(box, other), `${box.id} lies over ${other.id}`);
  }
  const byId = new Map(boxes.map((box) => [box.id, box]));
  for (const edge of edges) {
    const [from, to] = [byId.get(edge.from), byId.get(edge.to)];
    assert.deepEqual(edge.points[0], { x: from.x + from.width, y: from.y + from.height / 2 });
    assert.deepEqual(edge.points.at(-1), { x: to.x, y: to.y + to.height / 2 });
    for (let n = 1; n < edge.points.length; n += 1) assert.ok(edge.points[n].x >= edge.points[n - 1].x, `${edge.key} goes back`);
    assert.doesNotMatch(edge.path, /NaN|undefined/);
    for (const point of along(edge)) {
      const hit = boxes.find((box) => point.x > box.x + 0.5 && point.x < box.x + box.width - 0.5 && point.y > box.y && point.y < box.y + box.height);
      assert.equal(hit, undefined, `${edge.key} runs through ${hit?.id}`);
    }
  }
  return drawing;
}

test('a diamond is drawn in three columns', () => {
  const { boxes, edges } = check(DIAMOND, { figures: true });
  const [orders, totals, windows, deliver] = boxes;
  assert.equal(totals.x, windows.x);
  assert.ok(orders.x < totals.x && totals.x < deliver.x);
  assert.equal(edges.length, 4);
});

test('sixty operators are drawn without overlaps', () => {
  const plan = longChain();
  assert.equal(plan.nodes.flatMap(chainOf).length, 61);
  check(plan, { figures: true });
  check(plan);
});

test('any plan is drawn without overlaps, from left to right', () => {
  for (let seed = 1; seed <= 300; seed += 1) check(anyPlan(seed), { figures: seed % 2 === 0 });
});

test('a hundred vertices that all read from the first and feed the last', () => {
  const middle = Array.from({ length: 98 }, (_, n) => node(`m${n}`, ['first']));
  check({ nodes: [node('first'), ...middle, node('last', middle.map(({ id }) => id))] }, { figures: true });
});

test('an edge that skips columns goes around the boxes between', () => {
  const { edges } = check({ nodes: [node('a'), node('b', ['a']), node('c', ['b']), node('d', ['c', 'a'])] });
  assert.ok(edges.at(-1).points.length > 2);
});

test('several edges between the same two are all there', () => {
  const { edges } = check({ nodes: [node('a'), node('b', ['a', 'a', 'a'])] });
  assert.equal(new Set(edges.map(({ key }) => key)).size, 3);
  assert.equal(new Set(edges.map(({ label }) => label.y)).size, 3);
});

test('the same plan is drawn the same, whatever its job does', () => {
  const plan = anyPlan(7);
  const copy = JSON.parse(JSON.stringify(plan));
  assert.deepEqual(drawingOf(plan), drawingOf(copy));
  assert.equal(shapeOf(plan), shapeOf(copy));
  copy.nodes[0].parallelism = 9;
  assert.notEqual(shapeOf(plan), shapeOf(copy));
});

test('nothing, one vertex, and inputs that are not there are drawn too', () => {
  assert.deepEqual(drawingOf({ nodes: [] }), { width: 0, height: 0, boxes: [], edges: [] });
  assert.deepEqual(drawingOf(undefined).boxes, []);
  check({ nodes: [node('alone')] });
  assert.deepEqual(drawingOf({ nodes: [node('a', ['gone'])] }).edges, []);
});

test('long chains are cut, and say by how much', () => {
  const operators = Array.from({ length: 30 }, (_, at) => ({ name: `op ${at}`, parent: at ? at - 1 : null }));
  const [box] = drawingOf({ nodes: [node('a', [], { operators })] }).boxes;
  assert.equal(box.lines.length + box.more, 30);
  assert.ok(box.more > 0);
  assert.match(box.title, /op 0 → .* → op 29$/);
});

test('edges say how records are sent, and which side output they carry', () => {
  assert.deepEqual(labelLines({ strategy: 'HASH', sideOutput: undefined }), ['hash']);
  assert.deepEqual(labelLines({ strategy: 'REBALANCE', sideOutput: 'late' }), ['rebalance', 'side output: late']);
  assert.deepEqual(labelLines({ strategy: '', sideOutput: undefined }), []);
  assert.ok(labelLines({ strategy: 'HASH', sideOutput: 'x'.repeat(99) })[1].endsWith('…'));
});

const names = (lines) => lines.map(({ name, depth }) => `${'  '.repeat(depth)}${name}`);

test('chains are read from what the plan tells of them', () => {
  const operators = [
    { name: 'Source: a -> b', parent: null }, { name: 'check', parent: 0 },
    { name: 'odd', parent: 1, side_output: 'odd orders' }, { name: 'even', parent: 1 }, { name: 'Sink: out', parent: 2 },
  ];
  const lines = chainOf({ operators, description: 'ignored' });
  assert.deepEqual(names(lines), ['a -> b', 'check', '  odd', '  out', '  even']);
  assert.deepEqual(lines.map(({ kind }) => kind), ['source', 'operator', 'operator', 'sink', 'operator']);
  assert.equal(lines[2].sideOutput, 'odd orders');
});

test('chains are read from names where the plan tells no more', () => {
  assert.deepEqual(names(chainOf({ description: 'a -> b -> Sink: c' })), ['a', 'b', 'c']);
  assert.deepEqual(names(chainOf({ description: 'a -> (b -> c, d (e, f) -> (g, h))' })), ['a', '  b', '  c', '  d (e, f)', '    g', '    h']);
  assert.deepEqual(names(chainOf({ description: 'odd ) name -> x', operators: [] })), ['odd ) name -> x']);
  assert.equal(shortName({ description: 'Source: orders -> check' }), 'orders');
  assert.equal(shortName({}), 'unnamed');
  assert.equal(shortName({ description: 'Sink: ' }), 'Sink:');
});

test('a drawing fits into its room, and is never made larger for that', () => {
  assert.equal(fitting({ width: 2000, height: 100 }, { width: 1000, height: 500 }), 0.5);
  assert.equal(fitting({ width: 100, height: 1000 }, { width: 1000, height: 500 }), 0.5);
  assert.equal(fitting({ width: 10, height: 10 }, { width: 1000, height: 500 }), 1);
  assert.equal(fitting({ width: 0, height: 0 }, { width: 1000, height: 500 }), 1);
  assert.equal(fitting({ width: 1e6, height: 10 }, { width: 100, height: 100 }), SMALLEST);
});

test('at first words can be read, even if not all is in sight', () => {
  assert.equal(atFirst({ width: 10_000, height: 10 }, { width: 1000, height: 500 }), 0.8);
  assert.equal(atFirst({ width: 1100, height: 4000 }, { width: 990, height: 500 }), 0.9);
});

test('zooming keeps what is under the pointer, within bounds', () => {
  assert.deepEqual(keeping({ x: 100, y: 0 }, { x: 50, y: 20 }, 2), { x: 250, y: 20 });
  assert.deepEqual([within(99), within(0)], [LARGEST, SMALLEST]);
  assert.ok(Math.abs(stepped(stepped(1, 1), -1) - 1) < 1e-9);
});
