// What lists of jobs say, and what can be done with a job.

import assert from 'node:assert/strict';
import test from 'node:test';

import { dismiss, outcomesOf, tell } from '../../../riverrun/ui/jobs/outcomes.js';
import { parallelismInWords, parallelismOf, restartPoint, slotsFor, whyNotAsk, whyNotCancel } from '../../../riverrun/ui/jobs/possible.js';
import { age, clockThere, ending, hints, isNamed, isOver, lastCheckpoint, parted, tasksByState, tasksInWords } from '../../../riverrun/ui/jobs/glance.js';

/** @param {object} [facts] */
function job(facts = {}) {
  return {
    jid: 'a', name: 'shop', state: 'RUNNING', 'start-time': 1000, 'end-time': -1, duration: 500,
    tasks: { total: 4, running: 4 }, 'records-per-second': 40, 'back-pressure': 0.1, restarts: 0,
    'last-checkpoint': { id: 3, timestamp: 1400, duration: 20 }, 'last-failed-checkpoint': null, failure: null,
    'status-text': null, ...facts,
  };
}

const words = (/** @type {any} */ of) => hints(of).map((hint) => hint.words);

test('a job that does well has no hint', () => {
  assert.deepEqual(hints(job()), []);
  assert.deepEqual(hints(job({ 'back-pressure': null, 'last-checkpoint': null })), []);
});

test('what is wrong is told, and why', () => {
  assert.deepEqual(hints(job({ state: 'RESTARTING', failure: 'ValueError: no address' })), [
    { tone: 'bad', words: 'restarting', why: 'ValueError: no address' },
  ]);
  assert.deepEqual(words(job({ 'status-text': 'waits for 3 slots' })), ['waits for 3 slots']);
  assert.deepEqual(words(job({ 'back-pressure': 1 })), ['back-pressured 100 %']);
  assert.deepEqual(words(job({ tasks: { total: 4, running: 3, deploying: 1 } })), ['1 of 4 tasks do not run']);
  assert.deepEqual(words(job({ restarts: 1 })), ['restarted once']);
  assert.deepEqual(words(job({ restarts: 12 })), ['restarted 12 times']);
});

test('tasks that finished are not missed', () => {
  assert.deepEqual(words(job({ tasks: { total: 4, running: 3, finished: 1 } })), []);
});

test('a checkpoint that failed matters until one completes', () => {
  const failed = { id: 4, timestamp: 1450, duration: 9, failure: 'expired' };
  assert.deepEqual(hints(job({ 'last-failed-checkpoint': failed })), [{ tone: 'bad', words: 'checkpoints fail', why: 'expired' }]);
  assert.deepEqual(words(job({ 'last-failed-checkpoint': { ...failed, timestamp: 1300 } })), []);
  assert.deepEqual(words(job({ 'last-checkpoint': null, 'last-failed-checkpoint': failed })), ['checkpoints fail']);
});

test('a checkpoint that takes minutes is told', () => {
  assert.deepEqual(hints(job({ 'last-checkpoint': { id: 3, timestamp: 1400, duration: 90_000 } })), [
    { tone: 'wait', words: 'checkpoints are slow', why: 'The last one took 1 m 30 s.' },
  ]);
});

test('the last checkpoint in words', () => {
  assert.deepEqual(lastCheckpoint(job(), 1500), { words: '100 ms ago', note: 'took 20 ms', failed: false });
  assert.deepEqual(lastCheckpoint(job({ 'last-checkpoint': null }), 1500), { words: '–', note: 'none yet', failed: false });
  const failed = { id: 4, timestamp: 1450, duration: 9, failure: 'expired' };
  assert.deepEqual(lastCheckpoint(job({ 'last-failed-checkpoint': failed }), 1500), {
    words: 'failed 50 ms ago', note: 'last complete 100 ms ago', failed: true,
  });
  assert.equal(lastCheckpoint(job({ 'last-checkpoint': null, 'last-failed-checkpoint': failed }), 1500).note, 'none complete yet');
});

test('durations tick while a job runs, by its own clock', () => {
  assert.equal(age(job(), 10_000, 12_000), 2500);
  assert.equal(age(job({ state: 'FINISHED' }), 10_000, 12_000), 500);
  assert.equal(age(job({ duration: -1 }), 10_000, 12_000), undefined);
  assert.equal(clockThere(job(), 10_000, 12_000), 3500);
});

test('tasks by state, running ones first', () => {
  const tasks = { total: 4, failed: 1, running: 3, created: 0 };
  assert.deepEqual(tasksByState(tasks), [
    { state: 'running', tone: 'good', count: 3, share: 0.75 },
    { state: 'failed', tone: 'bad', count: 1, share: 0.25 },
  ]);
  assert.equal(tasksInWords(tasks), '3 running, 1 failed');
  assert.equal(tasksInWords({ total: 0 }), 'no tasks yet');
});

test('jobs are parted into those that run and those that ended', () => {
  const all = [job(), job({ state: 'FAILED' }), job({ state: 'RESTARTING' })];
  assert.deepEqual(parted(all).running.map((each) => each.state), ['RUNNING', 'RESTARTING']);
  assert.deepEqual(parted(all).ended.map((each) => each.state), ['FAILED']);
  assert.equal(isOver('SUSPENDED'), false);
});

test('jobs are found by words of their name, or by the beginning of their id', () => {
  const slow = job({ name: 'Slow shop', jid: '59ab' });
  assert.equal(isNamed(slow, 'shop slow'), true);
  assert.equal(isNamed(slow, ' 59A'), true);
  assert.equal(isNamed(slow, 'ab'), false);
  assert.equal(isNamed(slow, ''), true);
});

test('why a job ended, in one line', () => {
  assert.equal(ending(job({ state: 'FAILED', failure: 'boom' })), 'boom');
  assert.equal(ending(job({ state: 'FAILED' })), 'no reason was told');
  assert.equal(ending(job({ state: 'FINISHED' })), '');
  assert.equal(ending(job({ state: 'CANCELED', restarts: 2 })), 'restarted 2 times before');
});

test('a job can be cancelled until it has ended, and asked only while it runs', () => {
  assert.equal(whyNotCancel('RUNNING'), undefined);
  assert.equal(whyNotCancel('RESTARTING'), undefined);
  assert.match(whyNotCancel('FINISHED') ?? '', /finished/);
  assert.match(whyNotCancel('CANCELLING') ?? '', /being cancelled/);
  assert.match(whyNotCancel('SUSPENDED') ?? '', /another JobManager/);
  assert.equal(whyNotAsk('RUNNING'), undefined);
  assert.equal(whyNotAsk('RESTARTING'), 'The job is restarting; this needs one that runs.');
  assert.equal(whyNotAsk('FAILED'), 'The job is failed.');
});

const VERTICES = [{ parallelism: 2, maxParallelism: 128 }, { parallelism: 1, maxParallelism: 64 }];

test('the parallelism that a job has and may have', () => {
  const found = parallelismOf(VERTICES);
  assert.deepEqual(found, { now: 2, least: 1, most: 64, tasks: 3, vertices: 2 });
  assert.equal(parallelismInWords(/** @type {any} */ (found)), 'parallelisms from 1 to 2');
  assert.equal(parallelismInWords({ now: 2, least: 2, most: 9, tasks: 4, vertices: 2 }), 'parallelism 2');
  assert.equal(parallelismOf([]), undefined);
});

test('what another parallelism needs', () => {
  const found = /** @type {any} */ (parallelismOf(VERTICES));
  assert.deepEqual(slotsFor(found, 4, 8), { words: 'It needs up to 5 slots more; 8 are free.', enough: true });
  assert.equal(slotsFor(found, 4, 4).enough, false);
  assert.match(slotsFor(found, 4, 4).words, /not enough/);
  assert.deepEqual(slotsFor(found, 1, 0), { words: '1 slot becomes free.', enough: true });
  assert.equal(slotsFor({ ...found, now: 3, tasks: 4 }, 2, 0).words, 'It needs the slots that it has.');
  assert.equal(slotsFor({ ...found, least: 2 }, 2, 0).words, 'The job runs so already.');
  assert.equal(slotsFor(found, 4, undefined).words, 'It needs up to 5 slots more.');
});

test('an ended job is started again from the newest snapshot that is still there', () => {
  const at = (/** @type {number} */ time, /** @type {object} */ facts = {}) => ({ external_path: `/c/${time}`, trigger_timestamp: time, is_savepoint: false, ...facts });
  assert.deepEqual(restartPoint({ latest: { completed: at(5), savepoint: at(3, { is_savepoint: true }) } }), { path: '/c/5', what: 'checkpoint' });
  assert.deepEqual(restartPoint({ latest: { completed: at(5, { discarded: true }), savepoint: at(3, { is_savepoint: true }) } }), { path: '/c/3', what: 'savepoint' });
  assert.equal(restartPoint({ latest: { completed: null, savepoint: null } }), undefined);
  assert.equal(restartPoint(undefined), undefined);
});

test('outcomes stay until they are dismissed', () => {
  tell('a', { tone: 'good', words: 'done' });
  tell('a', { tone: 'bad', words: 'not done', reason: 'boom' });
  tell('b', { tone: 'good', words: 'other' });
  assert.deepEqual(outcomesOf('a').map((each) => each.words), ['done', 'not done']);
  dismiss('a', outcomesOf('a')[0].id);
  assert.deepEqual(outcomesOf('a').map((each) => each.words), ['not done']);
  assert.equal(outcomesOf('b').length, 1);
  assert.deepEqual(outcomesOf('c'), []);
});
