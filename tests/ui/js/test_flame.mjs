import assert from 'node:assert/strict';
import test from 'node:test';

import { callOf, ownerOf, shortName } from '../../../riverrun/ui/flame/frames.js';
import { boxesOf, fitting, neighbour, rowsOf } from '../../../riverrun/ui/flame/layout.js';
import { share } from '../../../riverrun/ui/flame/share.js';
import { costs, matches, pathTo, treeOf } from '../../../riverrun/ui/flame/tree.js';

const node = (name, value, ...children) => ({ name, value, children });
const DELIVER = '__main__.main.<locals>.deliver:62';
const SHOP = node('root', 400,
  node('__main__.<module>:69', 200,
    node('pyspark.worker.main:4364', 200,
      node('riverrun.spark.worker.task_shell.TaskShell.run:76', 200,
        node('riverrun.runtime.task.Task.turn:234', 150, node(DELIVER, 120, node('time.pause:1', 20))),
        node('riverrun.runtime.task.Task.turn:243', 30, node(DELIVER, 30))))),
  node('threading.Thread.run:982', 200, node('queue.Queue.put:149', 200)));

const byName = (tree, name) => tree.calls.find((call) => call.name === name);

test('names of calls are taken apart', () => {
  assert.deepEqual(callOf(DELIVER), { call: '__main__.main.<locals>.deliver', line: 62 });
  assert.deepEqual(callOf('odd'), { call: 'odd', line: undefined });
  assert.equal(shortName(DELIVER), 'deliver:62');
  assert.equal(shortName('riverrun.runtime.task.Task._read_next:330'), 'Task._read_next:330');
  assert.equal(shortName('riverrun.spark.worker.main._Host.run:129'), '_Host.run:129');
  assert.equal(shortName('a.b.C.process.<locals>.<listcomp>:84'), 'C.process.<locals>.<listcomp>:84');
  assert.equal(shortName('shop.total.<lambda>:3'), 'total.<lambda>:3');
  assert.equal(shortName('runpy._run_code:88'), '_run_code:88');
  assert.equal(shortName('all threads'), 'all threads');
});

test('whose code a call is', () => {
  assert.equal(ownerOf('riverrun.runtime.task.Task.turn:1', false), 'riverrun');
  assert.equal(ownerOf('pyspark.worker.main:1', false), 'spark');
  assert.equal(ownerOf('__main__.main:1', false), 'spark');
  assert.equal(ownerOf('__main__.main:1', true), 'program');
  assert.equal(ownerOf('shop.orders.Check.process:1', true), 'program');
  assert.equal(ownerOf('json.decoder.JSONDecoder.decode:1', true), 'python');
  assert.equal(ownerOf('_bootstrap.x:1', true), 'python');
});

test('own time is what was not spent in calls', () => {
  const tree = treeOf(SHOP);
  assert.equal(byName(tree, DELIVER).own, 100);
  assert.equal(byName(tree, 'riverrun.spark.worker.task_shell.TaskShell.run:76').own, 20);
  assert.equal(tree.root.own, 0);
  assert.equal(tree.cut, false);
});

test('the task alone: without the frames around it and without other threads', () => {
  const tree = treeOf(SHOP, true);
  assert.equal(tree.cut, true);
  assert.equal(tree.root.value, 200);
  assert.deepEqual(tree.root.children.map(({ name }) => name), ['riverrun.spark.worker.task_shell.TaskShell.run:76']);
  assert.equal(byName(tree, DELIVER).owner, 'program');
});

test('parts of the task that were found in several places are put together', () => {
  const tree = treeOf(node('root', 5,
    node('a:1', 3, node('riverrun.x:1', 3, node('u:1', 3))),
    node('b:1', 2, node('riverrun.x:1', 2, node('u:1', 1)))), true);
  assert.equal(tree.calls.length, 3);
  assert.deepEqual(tree.calls.map(({ value }) => value), [5, 5, 4]);
});

test('a profile without riverrun is shown whole', () => {
  const tree = treeOf(node('root', 2, node('a:1', 2)), true);
  assert.equal(tree.cut, false);
  assert.equal(tree.root.value, 2);
});

test('a search finds calls and counts no sample twice', () => {
  const tree = treeOf(SHOP);
  assert.equal(matches(tree, 'DELIVER').value, 150);
  assert.equal(matches(tree, 'deliver').found.size, 2);
  assert.equal(matches(tree, 'e').value, 400);
  assert.deepEqual(matches(tree, 'no such call'), { found: new Set(), value: 0 });
  assert.equal(matches(tree, '  '), null);
});

test('functions are summed up over their lines and callers', () => {
  const found = costs(treeOf(SHOP));
  assert.deepEqual(found.slice(0, 2).map(({ call, own, total }) => [call, own, total]), [
    ['queue.Queue.put', 200, 200], ['__main__.main.<locals>.deliver', 130, 150],
  ]);
  assert.equal(found.find(({ call }) => call === 'riverrun.runtime.task.Task.turn').total, 180);
});

test('a function that calls itself is not counted twice', () => {
  const [again] = costs(treeOf(node('root', 9, node('m.f:1', 9, node('m.f:2', 8, node('m.f:2', 7))))));
  assert.deepEqual([again.own, again.total], [9, 9]);
});

test('boxes fill the width, children stay inside of their parents', () => {
  const tree = treeOf(SHOP);
  const boxes = boxesOf(tree.root, 1000);
  assert.equal(boxes.length, tree.calls.length);
  const of = new Map(boxes.map((box) => [box.call.id, box]));
  for (const { call, x, width } of boxes) {
    const above = call.parent && of.get(call.parent.id);
    if (above) assert.ok(x >= above.x - 1e-9 && x + width <= above.x + above.width + 1e-9, call.name);
  }
  for (const row of Map.groupBy(boxes, ({ call }) => call.depth).values()) {
    row.sort((a, b) => a.x - b.x);
    row.slice(1).forEach((box, at) => assert.ok(box.x >= row[at].x + row[at].width - 1e-9));
  }
  assert.equal(of.get(0).width, 1000);
  assert.deepEqual(boxes.map(({ call }) => call.id), tree.calls.map(({ id }) => id), 'in the order in which they are read');
});

test('what is looked at fills the width, below the calls that led to it', () => {
  const tree = treeOf(SHOP);
  const focus = byName(tree, 'riverrun.runtime.task.Task.turn:243');
  const boxes = boxesOf(focus, 800);
  assert.deepEqual(boxes.filter(({ faded }) => faded).map(({ call }) => call.depth), [0, 1, 2, 3]);
  assert.ok(boxes.every(({ width }) => width === 800));
  assert.deepEqual(pathTo(focus).map(({ depth }) => depth), [0, 1, 2, 3, 4]);
  assert.equal(rowsOf(boxes), 6);
});

test('what is too thin to be seen is not drawn', () => {
  const many = node('root', 100_000, ...Array.from({ length: 20_000 }, (_, at) => node(`m.f${at}:1`, at === 7 ? 80_001 : 1)));
  const boxes = boxesOf(treeOf(many).root, 1000);
  assert.equal(boxes.length, 2);
  assert.deepEqual(boxesOf(treeOf(node('root', 0)).root, 1000), []);
});

test('arrows lead along the tree', () => {
  const tree = treeOf(SHOP);
  const [task, reader] = tree.root.children;
  assert.equal(neighbour(tree.root, 'ArrowDown'), task);
  assert.equal(neighbour(task, 'ArrowRight'), reader);
  assert.equal(neighbour(reader, 'ArrowLeft'), task);
  assert.equal(neighbour(task, 'ArrowUp'), tree.root);
  for (const key of ['ArrowUp', 'ArrowLeft', 'ArrowRight']) assert.equal(neighbour(tree.root, key), tree.root);
  const leaf = reader.children[0];
  assert.equal(neighbour(leaf, 'ArrowDown'), leaf);
});

test('labels are cut to their box', () => {
  assert.equal(fitting('Task.turn:234', 200, 7), 'Task.turn:234');
  assert.equal(fitting('Task.turn:234', 50, 7), 'Task.…');
  assert.equal(fitting('Task.turn:234', 20, 7), '');
});

test('shares keep a digit where rounding would lie', () => {
  assert.deepEqual(
    [[0, 200], [1, 200], [1999, 2000], [199.99, 200], [200, 200], [84, 200], [0, 0]].map(([value, whole]) => share(value, whole)),
    ['0 %', '0.5 %', '99.9 %', '99.9 %', '100 %', '42 %', '0 %'],
  );
});
