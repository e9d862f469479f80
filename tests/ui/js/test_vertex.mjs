import assert from 'node:assert/strict';
import test from 'node:test';

import { operatorQuery, operatorRows, operatorsOf, placeOf } from '../../../riverrun/ui/vertex/chain.js';
import { countedIn } from '../../../riverrun/ui/vertex/counted.js';
import { bySubtask, forEverySubtask, isAmount, metricGroups, metricInWords, mostOf, sumOf } from '../../../riverrun/ui/vertex/metrics.js';
import { busySkewInWords, skewInWords, skewOf } from '../../../riverrun/ui/vertex/skew.js';
import { meanTime, mostly, rowsOf } from '../../../riverrun/ui/vertex/subtasks.js';
import { furthestBehind, lagInWords, lagOf, watermarkInWords, watermarkOf, watermarkOrder } from '../../../riverrun/ui/vertex/watermarks.js';

const BEFORE = Number('-9223372036854775808');
const END = Number('9223372036854775807');
const parts = (...values) => values.map((value, subtask) => ({ subtask, value }));

test('skew names the subtask that got most, and what even would be', () => {
  const skew = skewOf(parts(100, 510, 200, 190));
  assert.equal(skewInWords(skew, 'got'), 'Subtask 1 got 51 % of the records of 4 subtasks; even would be 25 %.');
});

test('skew tells how many subtasks got nothing', () => {
  assert.match(skewInWords(skewOf(parts(900, 0, 300, 0)), 'gave'), / 2 subtasks gave none\.$/);
  assert.match(skewInWords(skewOf(parts(900, 0, 300)), 'got'), / 1 subtask got none\.$/);
});

test('small shares of many subtasks keep a digit', () => {
  const values = new Array(1000).fill(1000);
  values[417] = 40_000;
  assert.equal(
    skewInWords(skewOf(parts(...values)), 'got'),
    'Subtask 417 got 3.8 % of the records of 1000 subtasks; even would be 0.1 %.',
  );
});

test('what is even, alone, unknown or too little to tell is no skew', () => {
  for (const values of [[], [500], [500, 500], [500, 520, 480], [0, 0], [1, 9], [undefined, undefined], [30, 41]]) {
    assert.equal(skewOf(parts(...values)), null, JSON.stringify(values));
  }
  assert.equal(skewInWords(null, 'got'), null);
});

test('chance alone is not called skew', () => {
  let seed = 1;
  const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  const values = new Array(200).fill(0);
  for (let record = 0; record < 8000; record += 1) values[Math.floor(random() * 200)] += 1;
  assert.equal(skewOf(parts(...values)), null);
});

test('a subtask that is far busier than the others is named', () => {
  const rows = [0.2, 0.97, 0.25, undefined].map((busy, subtask) => ({ subtask, busy }));
  assert.equal(busySkewInWords(rows), 'Subtask 1 is busy 97 % of its time, half of the subtasks at most 25 %.');
  assert.equal(busySkewInWords(rows.slice(0, 1)), null);
  assert.equal(busySkewInWords([0.9, 0.8, 0.85].map((busy, subtask) => ({ subtask, busy }))), null);
  assert.equal(busySkewInWords([0.3, 0.01].map((busy, subtask) => ({ subtask, busy }))), null);
});

test('a watermark is unknown, before all records, at a time, or at the end', () => {
  const now = Date.UTC(2026, 0, 2, 12);
  assert.deepEqual(
    [undefined, null, NaN, BEFORE, now, END].map((value) => watermarkOf(value).kind),
    ['unknown', 'unknown', 'unknown', 'before', 'at', 'end'],
  );
  assert.equal(watermarkInWords(watermarkOf(BEFORE), now), 'none yet');
  assert.equal(watermarkInWords(watermarkOf(END), now), 'the end');
  assert.equal(watermarkInWords(watermarkOf(undefined), now), '–');
  assert.equal(watermarkInWords(watermarkOf(-1), now), '-1 ms');
  assert.match(watermarkInWords(watermarkOf(now - 1500), now), /^\d\d:\d\d:\d\d$/);
  assert.match(watermarkInWords(watermarkOf(now - 90_000_000), now), /^\d{4}-\d\d-\d\d /);
});

test('lag is told where there is a time', () => {
  assert.equal(lagInWords(lagOf(watermarkOf(8500), 10_000)), '1.5 s');
  assert.equal(lagInWords(lagOf(watermarkOf(11_000), 10_000)), '1.0 s ahead');
  assert.equal(lagInWords(lagOf(watermarkOf(BEFORE), 10_000)), '–');
});

test('the lowest watermark holds the others back, unknown ones do not count', () => {
  const rows = [5000, undefined, BEFORE, 3000].map((value, subtask) => ({ subtask, watermark: watermarkOf(value) }));
  assert.equal(furthestBehind(rows)?.subtask, 2);
  assert.equal(furthestBehind(rows.slice(0, 2))?.subtask, 0);
  assert.equal(furthestBehind(rows.slice(1, 2)), undefined);
  assert.equal(watermarkOrder(watermarkOf(undefined)), undefined);
});

test('metrics are put in order by subtask', () => {
  const answer = { metrics: [
    { id: '1.a.b', value: '7' }, { id: '0.a.b', value: '0.5' }, { id: '1.c', value: 'nan' }, { id: '9.c', value: '1' },
  ] };
  const found = bySubtask(answer, 2);
  assert.deepEqual(found.get('a.b'), [0.5, 7]);
  assert.deepEqual(found.get('c'), [undefined, undefined]);
  assert.equal(sumOf(found.get('a.b')), 7.5);
  assert.equal(mostOf(found.get('a.b')), 7);
  assert.equal(sumOf(found.get('c')), undefined);
  assert.equal(sumOf(undefined), undefined);
  assert.equal(bySubtask(undefined, 2).size, 0);
  assert.equal(forEverySubtask(['a', 'my op.b']), '*.a,*.my%20op.b');
});

test('metrics are grouped by the operator that they belong to', () => {
  const groups = metricGroups(
    [{ id: 'busy' }, { id: 'map.in' }, { id: 'map.two.in' }, { id: 'a, b.in' }, { id: 'buffers.inPool' }],
    ['map.two', 'map', 'a, b'],
  );
  assert.deepEqual(groups, [
    { title: 'Task', names: ['busy', 'buffers.inPool'] },
    { title: 'map.two', names: ['map.two.in'] },
    { title: 'map', names: ['map.in'] },
    { title: 'a, b', names: ['a, b.in'] },
  ]);
});

test('metrics are shown in their unit', () => {
  const words = (name, value) => metricInWords(name, value, 10_000);
  assert.equal(words('numBytesIn', 1536), '1.5 KiB');
  assert.equal(words('numRecordsInPerSecond', 12.5), '12.5/s');
  assert.equal(words('busyTimeMsPerSecond', 12.25), '12.25 ms/s');
  assert.equal(words('accumulatedIdleTimeMs', 61_000), '1 m 1 s');
  assert.equal(words('map.currentInputWatermark', BEFORE), 'none yet');
  assert.equal(words('inputQueueLength', 1234), '1,234');
  assert.equal(words('anything', undefined), '–');
  assert.equal(isAmount('map.currentInputWatermark'), false);
  assert.equal(isAmount('numBytesIn'), true);
});

const subtask = (index, more = {}) => ({
  subtask: index, status: 'RUNNING', attempt: 1, endpoint: `host-${index}:41`, 'start-time': 1000, 'end-time': -1, duration: 500,
  metrics: {
    'read-records': 10, 'read-records-complete': true, 'write-records': 20, 'write-records-complete': true,
    'read-bytes': 1, 'read-bytes-complete': true, 'write-bytes': 2, 'write-bytes-complete': true,
  },
  'taskmanager-id': 'tm', ...more,
});
const share = (index, busyRatio, idleRatio, ratio) => ({ subtask: index, busyRatio, idleRatio, ratio });

test('answers are put together by subtask', () => {
  const metrics = bySubtask({ metrics: [
    { id: '0.currentInputWatermark', value: '900' }, { id: '0.currentOutputWatermark', value: '800' },
    { id: '0.numRecordsInPerSecond', value: '3' },
  ] }, 1);
  const answer = { subtasks: [subtask(0)] };
  const [row] = rowsOf(answer, { subtasks: [share(0, 0.5, 0.25, 0.25)] }, metrics, { source: false });
  assert.equal(row.host, 'host-0');
  assert.equal(row.recordsOut, 20);
  assert.equal(row.inRate, 3);
  assert.deepEqual(row.time, { busy: 0.5, idle: 0.25, backpressured: 0.25 });
  assert.deepEqual(row.watermark, { kind: 'at', at: 900 });
  assert.equal(rowsOf(answer, undefined, metrics, { source: true })[0].watermark.at, 800);
});

test('what a subtask has not told is unknown, not zero', () => {
  const silent = subtask(0, {
    endpoint: '(unassigned)', 'taskmanager-id': '(unassigned)', 'start-time': -1,
    metrics: { 'read-records': 0, 'read-records-complete': false },
  });
  const [row] = rowsOf({ subtasks: [silent] }, { subtasks: [share(0, 0, 0, 0)] }, new Map(), { source: false });
  assert.deepEqual(
    [row.recordsIn, row.bytesOut, row.inRate, row.time, row.manager, row.since, row.watermark.kind],
    [undefined, undefined, undefined, undefined, undefined, undefined, 'unknown'],
  );
});

test('the time of a vertex is the mean of those who told', () => {
  const rows = rowsOf(
    { subtasks: [subtask(0), subtask(1), subtask(2)] },
    { subtasks: [share(0, 1, 0, 0), share(1, 0.5, 0.5, 0), share(2, 0, 0, 0)] },
    new Map(), { source: false },
  );
  assert.deepEqual(meanTime(rows), { busy: 0.75, idle: 0.25, backpressured: 0 });
  assert.equal(meanTime(rows.slice(2)), undefined);
  assert.deepEqual(mostly({ busy: 0.2, idle: 0.1, backpressured: 0.7 }), ['back-pressured', 0.7]);
  assert.deepEqual(mostly({ busy: 0.1, idle: 0.9, backpressured: 0 }), ['idle', 0.9]);
  assert.deepEqual(mostly({ busy: 0.9, idle: 0.1, backpressured: 0 }), ['busy', 0.9]);
});

const PLAN = { nodes: [
  { id: 'a', inputs: [], operators: [{ name: 'Source: x -> y' }, { name: 'map' }] },
  { id: 'b', inputs: [{ id: 'a' }] },
] };

test('operators come from the plan, else from the name of the vertex', () => {
  assert.deepEqual(operatorsOf(PLAN, 'a', 'ignored'), ['Source: x -> y', 'map']);
  assert.deepEqual(operatorsOf(PLAN, 'b', 'deliver -> Sink: out'), ['deliver', 'Sink: out']);
  assert.deepEqual(operatorsOf(undefined, 'b', 'one'), ['one']);
  assert.deepEqual(placeOf(PLAN, 'a'), { source: true, sink: false });
  assert.deepEqual(placeOf(PLAN, 'b'), { source: false, sink: true });
  assert.deepEqual(placeOf(PLAN, 'c'), { source: false, sink: false });
});

test('operators are summed up over subtasks, and their watermark is the lowest', () => {
  const answer = { metrics: [
    { id: 'map.numRecordsIn', sum: 40, min: 10 }, { id: 'map.currentOutputWatermark', sum: 9, min: 4 },
  ] };
  const [map, other] = operatorRows(['map', 'other'], answer);
  assert.deepEqual([map.recordsIn, map.outWatermark, map.recordsOut], [40, 4, undefined]);
  assert.equal(other.recordsIn, undefined);
  assert.ok(operatorQuery(['map']).startsWith('map.numRecordsIn,'));
  assert.ok(decodeURIComponent(operatorQuery(['a, b'])).startsWith('a\\, b.numRecordsIn,'));
});

test('accumulators are listed for the vertex, or for each subtask', () => {
  const found = [{ name: 'seen', type: 'IntCounter', value: '7' }];
  assert.deepEqual(countedIn({ 'user-accumulators': found }), [{ ...found[0], subtask: undefined, key: '/0' }]);
  const each = countedIn({ subtasks: [{ subtask: 0, 'user-accumulators': [] }, { subtask: 1, 'user-accumulators': found }] });
  assert.deepEqual(each, [{ ...found[0], subtask: 1, key: '1/0' }]);
});
