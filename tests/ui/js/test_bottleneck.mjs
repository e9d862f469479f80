import assert from 'node:assert/strict';
import test from 'node:test';

import { findings, inWords } from '../../../riverrun/ui/graph/bottleneck.js';
import { mostly, tasksInWords, verticesOf } from '../../../riverrun/ui/graph/vertices.js';

const NOW = 1_700_000_000_000;
const RUNNING = { state: 'RUNNING', now: NOW, 'status-text': null };

/** A vertex that runs, reads from others and spends its time as told. */
function vertex(name, reads = [], { busy, backpressured = 0, parallelism = 1, ...facts } = {}) {
  return {
    id: name, name, fullName: name, parallelism, status: 'RUNNING', tasks: { RUNNING: parallelism },
    running: parallelism, total: parallelism, reads: reads.map((id) => ({ id, strategy: 'HASH' })),
    isSource: reads.length === 0, isSink: false, since: NOW - 3_600_000, attempt: 0,
    time: busy === undefined ? undefined : { busy, backpressured, idle: 1 - busy - backpressured },
    busiest: busy === undefined ? undefined : { subtask: 0, busy },
    heaviest: undefined, inRate: 100, outRate: 100, watermark: undefined, ...facts,
  };
}

const said = (vertices, job = RUNNING) => findings(job, vertices).map(inWords);

/** The diamond of a shop: orders feed totals and windows, both feed deliver. */
function shop({ orders, totals, windows, deliver }) {
  return [
    vertex('orders', [], orders),
    vertex('totals', ['orders'], totals),
    vertex('windows', ['orders'], windows),
    vertex('deliver', ['totals', 'windows'], deliver),
  ];
}

test('a slow sink is named, and who waits for it', () => {
  const slow = shop({
    orders: { busy: 0.02, backpressured: 0.7 },
    totals: { busy: 0.01, backpressured: 0.99 },
    windows: { busy: 0.02, backpressured: 0.4 },
    deliver: { busy: 1 },
  });
  assert.deepEqual(said(slow), ["'deliver' is busy 100 %; 'totals' and 2 others upstream wait for it (up to 99 % of the time)."]);
  const [first] = findings(RUNNING, slow);
  assert.equal(first.tone, 'bad');
  assert.equal(first.vertex, 'deliver');
});

test('an idle branch is not blamed for what the other branch does', () => {
  const slow = shop({
    orders: { busy: 0.02, backpressured: 0.7 },
    totals: { busy: 0.01, backpressured: 0.99 },
    windows: { busy: 0.02 },
    deliver: { busy: 1 },
  });
  assert.deepEqual(said(slow), ["'deliver' is busy 100 %; 'totals' and 'orders' upstream wait for it (up to 99 % of the time)."]);
});

test('the vertex where the waiting ends is to blame, not those on the way', () => {
  const row = [
    vertex('a', [], { busy: 0.1, backpressured: 0.9 }),
    vertex('b', ['a'], { busy: 0.6, backpressured: 0.3 }),
    vertex('c', ['b'], { busy: 0.9 }),
    vertex('d', ['c'], { busy: 0.2 }),
  ];
  assert.deepEqual(said(row), ["'c' is busy 90 %; 'b' and 'a' upstream wait for it (up to 90 % of the time)."]);
});

test('of those that may be to blame, the busiest is', () => {
  const fork = [
    vertex('a', [], { busy: 0.1, backpressured: 0.5 }),
    vertex('b', ['a'], { busy: 0.2 }),
    vertex('c', ['a'], { busy: 0.97 }),
  ];
  assert.deepEqual(said(fork), ["'c' is busy 97 %; 'a' upstream waits for it (up to 50 % of the time)."]);
});

test('two bottlenecks are both named, the longer wait first', () => {
  const two = [
    vertex('a', [], { busy: 0.1, backpressured: 0.3 }),
    vertex('a slow', ['a'], { busy: 0.8 }),
    vertex('b', [], { busy: 0.1, backpressured: 0.9 }),
    vertex('b slow', ['b'], { busy: 0.9 }),
  ];
  assert.deepEqual(said(two), [
    "'b slow' is busy 90 %; 'b' upstream waits for it (up to 90 % of the time).",
    "'a slow' is busy 80 %; 'a' upstream waits for it (up to 30 % of the time).",
  ]);
});

test('no more than three bottlenecks are told', () => {
  const many = [1, 2, 3, 4, 5].flatMap((n) => [
    vertex(`a${n}`, [], { busy: 0, backpressured: 1 }), vertex(`b${n}`, [`a${n}`], { busy: 1 }),
  ]);
  assert.equal(said(many).length, 3);
});

test('one subtask that is busy holds all up, though the mean is low', () => {
  const skewed = [
    vertex('a', [], { busy: 0.1, backpressured: 0.6 }),
    vertex('b', ['a'], { busy: 0.3, parallelism: 4, busiest: { subtask: 3, busy: 1 } }),
  ];
  assert.deepEqual(said(skewed), [
    "Subtask 3 of 'b' is busy 100 %, its 4 subtasks 30 % in the mean; 'a' upstream waits for it (up to 60 % of the time).",
  ]);
});

test('a long wait for one that is not busy is told as it is', () => {
  const odd = [vertex('a', [], { busy: 0, backpressured: 0.6 }), vertex('b', ['a'], { busy: 0.2 })];
  assert.deepEqual(said(odd), ["'a' waits for 'b' (up to 60 % of the time), which is itself busy only 20 %."]);
  assert.equal(findings(RUNNING, odd)[0].tone, 'wait');
});

test('a short wait for one that has time to spare is no trouble, but not kept quiet', () => {
  const bursts = [vertex('a', [], { busy: 0, backpressured: 0.2 }), vertex('b', ['a'], { busy: 0.2, backpressured: 0.3 }), vertex('c', ['b'], { busy: 0.1 })];
  assert.deepEqual(said(bursts), ["Nothing is held up; the busiest is 'b' (20 %), and 'b' and 'a' wait up to 30 % of the time."]);
  assert.equal(findings(RUNNING, bursts)[0].tone, 'good');
});

test('a little waiting is none', () => {
  const fine = [vertex('a', [], { busy: 0.1, backpressured: 0.09 }), vertex('b', ['a'], { busy: 0.34 })];
  assert.deepEqual(said(fine), ["Nothing is held up; the busiest is 'b' (34 %)."]);
  assert.equal(findings(RUNNING, fine)[0].tone, 'good');
});

test('one that is nearly full is pointed out before others wait', () => {
  const near = [vertex('a', [], { busy: 0.1 }), vertex('b', ['a'], { busy: 0.93 })];
  assert.deepEqual(said(near), ["'b' is busy 93 % and close to its limit; nothing waits for it yet."]);
});

test('a job without records waits for its source', () => {
  const still = [vertex('orders', [], { busy: 0, inRate: 0 }), vertex('b', ['orders'], { busy: 0.01, inRate: 0 })];
  assert.deepEqual(said(still), ["The job waits for its source 'orders': no records come, and everything is idle."]);
  const two = [vertex('a', [], { busy: 0, inRate: 0 }), vertex('b', [], { busy: 0, inRate: 0 })];
  assert.match(said(two)[0], /^The job waits for its sources 'a' and 'b': /);
});

test('a job that is idle but has records is not said to wait', () => {
  const calm = [vertex('orders', [], { busy: 0.01, inRate: 40 }), vertex('b', ['orders'], { busy: 0.02 })];
  assert.deepEqual(said(calm), ["Nothing is held up; the busiest is 'b' (2 %)."]);
  const unknown = [vertex('orders', [], { busy: 0.01, inRate: undefined })];
  assert.match(said(unknown)[0], /^Nothing is held up/);
});

test('before there are figures, that is said', () => {
  assert.deepEqual(said([vertex('a'), vertex('b', ['a'])]), ['The tasks have not told yet what they do with their time.']);
  assert.deepEqual(said([]), ['The tasks have not told yet what they do with their time.']);
});

test('who waits is told, also when the one that they wait for tells nothing', () => {
  const partly = [vertex('a', [], { busy: 0, backpressured: 1 }), vertex('b', ['a'])];
  assert.deepEqual(said(partly), ["'a' waits for 'b' (up to 100 % of the time), which has not told yet what it does."]);
  const last = [vertex('a', [], { busy: 0, backpressured: 0.4 })];
  assert.deepEqual(said(last), ["Nothing is held up; the busiest is 'a' (0 %), and 'a' waits up to 40 % of the time."]);
});

test('tasks that do not run yet come first', () => {
  const starting = [
    vertex('a', [], { busy: 0.2, parallelism: 4 }),
    vertex('b', ['a'], { parallelism: 4, tasks: { RUNNING: 1, DEPLOYING: 3 }, running: 1, status: 'DEPLOYING' }),
  ];
  assert.equal(said(starting)[0], "5 of 8 tasks run; 'b' is not complete yet.");
});

test('tasks that have finished are not missing', () => {
  const ending = [
    vertex('a', [], { status: 'FINISHED', tasks: { FINISHED: 2 }, running: 0, total: 2 }),
    vertex('b', ['a'], { busy: 0.2 }),
  ];
  assert.deepEqual(said(ending), ["Nothing is held up; the busiest is 'b' (20 %)."]);
});

test('a vertex that failed is named first', () => {
  const failed = [vertex('a', [], { busy: 0.2 }), vertex('b', ['a'], { status: 'FAILED', tasks: { FAILED: 1 }, running: 0 })];
  assert.equal(said(failed)[0], "'b' failed. See the exceptions.");
});

test('a job that began again lately says when and how often', () => {
  const again = [vertex('a', [], { busy: 0.1, attempt: 3, since: NOW - 12_000 }), vertex('b', ['a'], { busy: 0.2, attempt: 3, since: NOW - 12_000 })];
  assert.equal(said(again)[1], 'The job began again 12 s ago, for the 3rd time. See the exceptions.');
});

test('a part of a job that began again is named', () => {
  const part = [vertex('a', [], { busy: 0.1 }), vertex('b', ['a'], { busy: 0.2, attempt: 1, since: NOW - 90_000 })];
  assert.equal(said(part)[1], "'b' began again 1 m 30 s ago. See the exceptions.");
});

test('restarts of long ago are not news', () => {
  assert.equal(said([vertex('a', [], { busy: 0.1, attempt: 9, since: NOW - 3_600_000 })]).length, 1);
});

test('many restarts are counted as people say it', () => {
  for (const [attempt, words] of [[2, '2nd'], [11, '11th'], [12, '12th'], [13, '13th'], [21, '21st'], [22, '22nd'], [104, '104th'], [111, '111th']]) {
    assert.match(said([vertex('a', [], { busy: 0.1, attempt, since: NOW - 1000 })])[1], new RegExp(`for the ${words} time`));
  }
});

test('records that go to one subtask are pointed out', () => {
  const skewed = [vertex('a', [], { busy: 0.1 }), vertex('totals', ['a'], { busy: 0.2, parallelism: 4, heaviest: { subtask: 3, share: 0.78 } })];
  assert.equal(said(skewed)[1], "Subtask 3 of 'totals' gets 78 % of the records of 4 subtasks.");
});

test('the most uneven vertex is named, others are counted', () => {
  const skewed = [0.6, 0.9, 0.7].map((share, n) => vertex(`v${n}`, [], { busy: 0.1, parallelism: 4, heaviest: { subtask: n, share } }));
  assert.equal(said(skewed)[1], "Subtask 1 of 'v1' gets 90 % of the records of 4 subtasks. 2 more are uneven.");
});

test('an even share, a single subtask and a handful of records are no skew', () => {
  for (const facts of [
    { parallelism: 2, heaviest: { subtask: 0, share: 0.6 } },
    { parallelism: 1, heaviest: { subtask: 0, share: 1 } },
    { parallelism: 2, heaviest: { subtask: 0, share: 1 }, inRate: 0.2 },
    { parallelism: 100, heaviest: { subtask: 0, share: 0.02 } },
  ]) assert.equal(said([vertex('a', [], { busy: 0.1, ...facts })]).length, 1, JSON.stringify(facts));
});

test('of many subtasks, three times the even share is skew', () => {
  const skewed = [vertex('a', [], { busy: 0.1, parallelism: 100, heaviest: { subtask: 41, share: 0.05 } })];
  assert.equal(said(skewed)[1], "Subtask 41 of 'a' gets 5 % of the records of 100 subtasks.");
});

test('a job that does not run says what it does instead', () => {
  const vertices = [vertex('a', [], { busy: 1 })];
  for (const [state, words, tone] of [
    ['FINISHED', /^The job has finished\./, 'good'], ['CANCELED', /^The job was cancelled\./, 'good'],
    ['FAILED', /^The job has failed\..*See the exceptions\.$/, 'bad'], ['FAILING', /exceptions/, 'bad'],
    ['RESTARTING', /^A task failed, and the job starts again\. .*exceptions/, 'bad'], ['CREATED', /^The job starts\./, 'wait'],
    ['INITIALIZING', /^The job starts\./, 'wait'], ['CANCELLING', /being cancelled/, 'wait'],
  ]) {
    const [found, ...more] = findings({ ...RUNNING, state }, vertices);
    assert.match(inWords(found), words);
    assert.equal(found.tone, tone);
    assert.deepEqual(more, []);
  }
});

test('what a job waits for is told in its own words', () => {
  const waiting = { ...RUNNING, state: 'CREATED', 'status-text': 'waits for 4 slots, 1 is free' };
  assert.deepEqual(said([], waiting), ['The job starts. Waits for 4 slots, 1 is free.']);
});

test('very long names are cut in sentences', () => {
  assert.deepEqual(said([vertex('x'.repeat(99), [], { busy: 0.1 })]), [`Nothing is held up; the busiest is '${'x'.repeat(39)}…' (10 %).`]);
});

test('links lead to vertices and to the exceptions', () => {
  const [{ pieces }] = findings(RUNNING, [vertex('a', [], { busy: 0.1 })]);
  assert.deepEqual(pieces.find((piece) => typeof piece !== 'string'), { vertex: 'a', text: "'a'" });
  const [failed] = findings({ ...RUNNING, state: 'FAILED' }, []);
  assert.deepEqual(failed.pieces.find((piece) => typeof piece !== 'string'), { tab: 'exceptions', text: 'exceptions' });
});

const JOB = {
  vertices: [
    { id: 'a', name: 'Source: orders -> check', parallelism: 2, status: 'RUNNING', 'start-time': NOW, tasks: { RUNNING: 1, DEPLOYING: 1, FAILED: 0 } },
    { id: 'b', name: 'Sink: out', parallelism: 1, status: 'CREATED', 'start-time': -1, tasks: { CREATED: 1 } },
  ],
  plan: {
    nodes: [
      { id: 'a', description: 'Source: orders -> check', inputs: [] },
      { id: 'b', description: 'Sink: out', inputs: [{ id: 'a', ship_strategy: 'HASH', side_output: 'late' }] },
    ],
  },
};

test('vertices are put together from the job and its flow', () => {
  const flow = { vertices: [{ id: 'a', attempt: 2, busy: 0.5, idle: 0.5, backpressured: null, busiest: null, heaviest: null, 'records-in-per-second': 7, 'records-out-per-second': 5, watermark: null }] };
  const [a, b] = verticesOf(JOB, flow);
  assert.equal(a.name, 'orders');
  assert.deepEqual([a.isSource, a.isSink, b.isSource, b.isSink], [true, false, false, true]);
  assert.deepEqual(a.time, { busy: 0.5, idle: 0.5, backpressured: 0 });
  assert.deepEqual([a.inRate, a.outRate, a.watermark, a.attempt], [7, 5, undefined, 2]);
  assert.deepEqual(b.reads, [{ id: 'a', strategy: 'HASH', sideOutput: 'late' }]);
  assert.deepEqual([b.time, b.since, b.inRate], [undefined, undefined, undefined]);
});

test('without a flow nothing is made up', () => {
  for (const each of verticesOf(JOB)) {
    assert.deepEqual([each.time, each.inRate, each.outRate, each.busiest, mostly(each)], [undefined, undefined, undefined, undefined, undefined]);
  }
});

test('a job that has ended shows what its vertices did in all their time', () => {
  const metrics = { 'accumulated-busy-time': 25, 'accumulated-idle-time': 75, 'accumulated-backpressured-time': 0, 'write-records': 9, 'write-records-complete': true };
  const [a, b] = verticesOf({ ...JOB, state: 'FINISHED', vertices: [{ ...JOB.vertices[0], metrics }, JOB.vertices[1]] }, { vertices: [{ id: 'a', attempt: 4, busy: null }] });
  assert.deepEqual(a.time, { busy: 0.25, idle: 0.75, backpressured: 0 });
  assert.deepEqual([a.recordsOut, a.attempt, b.time, b.attempt], [9, 4, undefined, undefined]);
});

test('the states of tasks in words', () => {
  const [a, b] = verticesOf(JOB);
  assert.equal(tasksInWords(a), '1 of 2 running');
  assert.equal(tasksInWords(b), 'created');
  assert.equal(tasksInWords({ tasks: { RUNNING: 4 }, running: 4, total: 4 }), 'all 4 running');
  assert.equal(tasksInWords({ tasks: { DEPLOYING: 3, CREATED: 1 }, running: 0, total: 4 }), '3 deploying, 1 created');
  assert.equal(tasksInWords({ tasks: {}, running: 0, total: 0 }), 'no tasks yet');
});

test('what a vertex does most', () => {
  const of = (busy, backpressured) => mostly(vertex('a', [], { busy, backpressured }));
  assert.deepEqual([of(0.9, 0), of(0.1, 0.8), of(0.1, 0), of(0.5, 0), of(0, 0)], ['busy', 'backpressured', 'idle', 'busy', 'idle']);
});
