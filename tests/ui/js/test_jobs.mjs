// What lists of jobs say, and what can be done with a job.

import assert from 'node:assert/strict';
import test from 'node:test';

import { age, clockThere, ending, hints, isOver, lastCheckpoint, parted, tasksByState, tasksInWords } from '../../../riverrun/ui/jobs/glance.js';

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

test('why a job ended, in one line', () => {
  assert.equal(ending(job({ state: 'FAILED', failure: 'boom' })), 'boom');
  assert.equal(ending(job({ state: 'FAILED' })), 'no reason was told');
  assert.equal(ending(job({ state: 'FINISHED' })), '');
  assert.equal(ending(job({ state: 'CANCELED', restarts: 2 })), 'canceled after 2 restarts');
});
