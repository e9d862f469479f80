// What the page says about checkpoints.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { healthOf, named, OFF, times } from '../../../riverrun/ui/checkpoints/health.js';
import { longest, slowestOf, splitOf, splitWords } from '../../../riverrun/ui/checkpoints/split.js';
import { awaited, lastOf, partsOf, ranges } from '../../../riverrun/ui/checkpoints/waiting.js';
import { endOf, settingsWords, typeWords } from '../../../riverrun/ui/checkpoints/words.js';
import { heights, savepointsOf } from '../../../riverrun/ui/checkpoints/history.js';

const NOW = 1_000_000;

const checkpoint = (id, facts = {}) => ({
  id, status: 'COMPLETED', is_savepoint: false, checkpoint_type: 'CHECKPOINT', trigger_timestamp: NOW - 500,
  end_to_end_duration: 20, num_subtasks: 4, num_acknowledged_subtasks: 4, state_size: 10, checkpointed_size: 10, ...facts,
});
const failed = (id, reason) => checkpoint(id, { status: 'FAILED', failure_message: reason });
const running = (id, facts) => checkpoint(id, { status: 'IN_PROGRESS', num_acknowledged_subtasks: 3, ...facts });
const answer = (history, usual = 20) => ({
  counts: { completed: history.filter(({ status }) => status === 'COMPLETED').length },
  summary: { end_to_end_duration: { p50: usual } },
  latest: {},
  history,
});
const health = (history, facts = {}) => healthOf({ checkpoints: answer(history, facts.usual), interval: 1000, state: 'RUNNING', now: NOW, ...facts });

describe('health', () => {
  it('is good when the last one took as long as usual', () => {
    assert.deepEqual(health([checkpoint(2), checkpoint(1)]), {
      tone: 'good', about: 2, words: 'Checkpoints are healthy: one every 1.0 s, the last one took 20 ms, usual are 20 ms.',
    });
  });

  it('says that checkpointing is off, and how it is turned on', () => {
    assert.deepEqual(health([checkpoint(1)], { interval: 0 }), { tone: 'wait', words: OFF });
    assert.match(OFF, /execution\.checkpointing\.interval/);
  });

  it('waits for the first one', () => {
    assert.equal(health([]).words, 'No checkpoint is complete yet; one is due every 1.0 s.');
    assert.equal(health([], { state: 'CREATED' }).words, 'No checkpoint is complete yet; the job is created.');
  });

  it('counts failures in a row, with the reason of the newest', () => {
    const { tone, words, about } = health([failed(5, 'disk full'), failed(4, 'no room'), failed(3, 'no room'), checkpoint(2)]);
    assert.equal(words, '3 checkpoints failed in a row: disk full.');
    assert.equal(tone, 'bad');
    assert.equal(about, 5);
  });

  it('does not claim to know failures older than the history', () => {
    assert.equal(health([failed(9, 'disk full.'), failed(8, '')]).words, 'At least 2 checkpoints failed in a row: disk full.');
  });

  it('names a single failure, and forgets it after a success', () => {
    assert.equal(health([failed(2, 'task lost'), checkpoint(1)]).words, 'The last checkpoint (2) failed: task lost.');
    assert.equal(health([checkpoint(3), failed(2, 'task lost')]).tone, 'good');
  });

  it('passes over savepoints and what is in progress', () => {
    const savepoint = checkpoint(4, { is_savepoint: true, status: 'FAILED', failure_message: 'no such folder' });
    assert.equal(health([running(5), savepoint, failed(3, 'disk full'), checkpoint(2)]).about, 3);
  });

  it('compares a slow one with the usual, and names who was last and why', () => {
    const slow = checkpoint(7, { end_to_end_duration: 12_000 });
    const last = { checkpoint: 7, name: 'deliver -> Sink: failures', phase: 'start' };
    assert.equal(
      health([slow], { usual: 1200, last }).words,
      "The last checkpoint took 12 s, ten times the usual 1.2 s; 'deliver' was the last to acknowledge: "
      + 'mostly start delay, the barrier was on its way, behind the records before it.',
    );
    assert.equal(health([slow], { usual: 1200, last: { ...last, checkpoint: 6 } }).words, 'The last checkpoint took 12 s, ten times the usual 1.2 s.');
  });

  it('minds checkpoints that take longer than the time between two', () => {
    assert.match(health([checkpoint(7, { end_to_end_duration: 9000 })], { usual: 8000 }).words, /took 9\.0 s, longer than the 1\.0 s between two/);
  });

  it('does not mind a few milliseconds', () => {
    assert.equal(health([checkpoint(7, { end_to_end_duration: 300 })], { usual: 10 }).tone, 'good');
  });

  it('tells who a checkpoint in progress waits for', () => {
    const history = [running(8, { trigger_timestamp: NOW - 60_000 }), checkpoint(7)];
    assert.equal(
      health(history, { usual: 6000, waits: { checkpoint: 8, names: ['deliver'] } }).words,
      "Checkpoint 8 has been under way for 1 m, ten times the usual 6.0 s; 'deliver' has not acknowledged yet.",
    );
    assert.equal(
      health(history, { usual: 6000, timeout: 100_000 }).words,
      'Checkpoint 8 has been under way for 1 m, ten times the usual 6.0 s; 3 of 4 subtasks have acknowledged. It is given up after 1 m 40 s.',
    );
    assert.match(health([history[0]]).words, /^Checkpoint 8 has been under way for 1 m; 3 of 4/);
  });

  it('notices that none has begun for long, unless the job stands', () => {
    const old = [checkpoint(1, { trigger_timestamp: NOW - 300_000 })];
    assert.equal(health(old).words, 'No checkpoint has begun for 5 m, though one is due every 1.0 s.');
    assert.equal(health(old, { state: 'FINISHED' }).words, 'The job is finished; of its checkpoints the last one took 20 ms, usual are 20 ms.');
  });

  it('names few and counts many', () => {
    assert.equal(named(['a', 'b -> c']), "'a' and 'b'");
    assert.equal(named(['a', 'b', 'c', 'd']), "'a', 'b' and 2 more");
    assert.equal(times(2.4), 'two times');
    assert.equal(times(4200), '4,200 times');
  });
});

describe('split', () => {
  const subtask = {
    index: 1, end_to_end_duration: 100, start_delay: 10, alignment: { duration: 20 }, checkpoint: { sync: 5, async: 40 },
  };

  it('adds up to the whole', () => {
    const split = splitOf(subtask);
    assert.deepEqual(split.parts.map(({ ms }) => ms), [10, 20, 5, 40, 25]);
    assert.equal(split.parts.reduce((sum, { share }) => sum + share, 0), 1);
    assert.equal(splitWords(split), 'start delay 10 ms, alignment 20 ms, sync 5 ms, async 40 ms, other 25 ms');
    assert.equal(longest(split).phase, 'async');
  });

  it('is never negative, though clocks differ', () => {
    const split = splitOf({ ...subtask, end_to_end_duration: 50 });
    assert.equal(split.total, 75);
    assert.equal(split.parts.at(-1).ms, 0);
  });

  it('is nothing before the subtask acknowledged, and all zero for one that took no time', () => {
    assert.equal(splitOf({ index: 0, status: 'pending' }), null);
    assert.equal(longest(splitOf({ end_to_end_duration: 0 })), null);
    assert.deepEqual(splitOf({ end_to_end_duration: 0 }).parts.map(({ share }) => share), [0, 0, 0, 0, 0]);
  });

  it('finds the slowest of those that acknowledged', () => {
    assert.equal(slowestOf([{ index: 0 }, subtask, { index: 2, end_to_end_duration: 300 }]).index, 2);
    assert.equal(slowestOf([{ index: 0 }]), null);
  });
});

describe('who acknowledged', () => {
  const part = (acknowledged, at) => ({ num_subtasks: 2, num_acknowledged_subtasks: acknowledged, latest_ack_timestamp: at });
  const found = partsOf(
    { tasks: { sink: part(1, 30), source: part(2, 10), gone: part(0, -1) } },
    [{ id: 'source', name: 'Source: orders' }, { id: 'sink', name: 'deliver' }],
  );

  it('is told in the order of the graph; a vertex that is no more keeps its id', () => {
    assert.deepEqual(found.map(({ name }) => name), ['Source: orders', 'deliver', 'gone']);
    assert.deepEqual(awaited(found).map(({ name }) => name), ['deliver', 'gone']);
    assert.equal(lastOf(found).name, 'deliver');
    assert.equal(lastOf(partsOf({ tasks: {} }, [])), null);
  });

  it('shows subtasks as ranges', () => {
    assert.equal(ranges([7, 0, 2, 1, 9]), '0–2, 7, 9');
    assert.equal(ranges([]), '');
  });
});

describe('settings in words', () => {
  const config = {
    mode: 'EXACTLY_ONCE', interval: 1000, timeout: 600_000, min_pause: 500, max_concurrent: 1, unaligned_checkpoints: false,
    externalization: { enabled: true, delete_on_cancellation: false }, state_backend: 'hashmap', checkpoint_storage: '',
    tolerable_failed_checkpoints: 0, aligned_checkpoint_timeout: 0, checkpoints_after_tasks_finish: true,
  };
  const words = (facts) => Object.fromEntries(settingsWords({ ...config, ...facts }));

  it('say what happens', () => {
    assert.equal(words()['How often'], 'every 1.0 s, at least 500 ms after the one before');
    assert.equal(words()['When the job is cancelled'], 'checkpoints are kept');
    assert.equal(words()['Failed checkpoints'], 'the first one fails the job');
    assert.equal(words()['Where'], '–');
    assert.match(words({ interval: 0 })['How often'], /never/);
    assert.match(words({ unaligned_checkpoints: true, aligned_checkpoint_timeout: 2000 }).Barriers, /aligned for 2\.0 s, then/);
    assert.equal(words({ tolerable_failed_checkpoints: 2 })['Failed checkpoints'], '2 in a row are tolerated, one more fails the job');
    assert.equal(typeWords({ checkpoint_type: 'SYNC_SAVEPOINT' }), 'savepoint to stop with');
    assert.equal(typeWords({ checkpoint_type: 'NEW_KIND' }), 'new kind');
  });

  it('keep the end of a path', () => {
    assert.equal(endOf('/data/jobs/chk-7/_metadata'), '…/chk-7');
    assert.equal(endOf('s3://bucket/savepoint-1/'), '…/savepoint-1');
    assert.equal(endOf('savepoint-1'), 'savepoint-1');
  });
});

describe('history', () => {
  it('lists savepoints, also the latest one that the history has lost', () => {
    const old = checkpoint(3, { is_savepoint: true });
    const found = savepointsOf({ history: [checkpoint(9), checkpoint(8, { is_savepoint: true })], latest: { savepoint: old } });
    assert.deepEqual(found.map(({ id }) => id), [8, 3]);
    assert.deepEqual(savepointsOf({ history: [old], latest: { savepoint: old } }).length, 1);
    assert.deepEqual(savepointsOf({ history: [], latest: {} }), []);
  });

  it('draws bars from the oldest on, the largest full', () => {
    assert.deepEqual(heights([3, 0, undefined, 6]), [0.5, 0, 0, 1]);
    assert.deepEqual(heights([0, 0]), [0, 0]);
  });
});
