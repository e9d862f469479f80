// How failures are told.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { aftermath, groupsOf, normalised, whereOf } from '../../../riverrun/ui/exceptions/grouping.js';
import { blamed, isOwn, runsOf, sectionsOf } from '../../../riverrun/ui/exceptions/traceback.js';

const failure = (message, facts = {}) => ({
  exceptionName: 'ValueError', message, timestamp: 1000, taskName: 'Source: orders -> check (0)', failureLabels: { operator: 'check' }, ...facts,
});

describe('groups', () => {
  it('hold one cause each, the newest first', () => {
    const groups = groupsOf([
      failure('order 60 has no address', { timestamp: 5000 }),
      failure('disk full', { timestamp: 4000, exceptionName: 'OSError' }),
      failure('order 7 has no address', { timestamp: 3000 }),
      failure('order 8 has no address', { timestamp: 2000, failureLabels: { operator: 'deliver' } }),
    ]);
    assert.deepEqual(groups.map(({ name, operator, failures }) => [name, operator, failures.length]), [
      ['ValueError', 'check', 2], ['OSError', 'check', 1], ['ValueError', 'deliver', 1],
    ]);
    assert.deepEqual([groups[0].first, groups[0].last], [3000, 5000]);
    assert.equal(groups[0].failures[0].message, 'order 60 has no address');
  });

  it('have a short key that stays when another failure comes', () => {
    const [before] = groupsOf([failure('order 1')]);
    const [after] = groupsOf([failure('order 2', { timestamp: 2000 }), failure('order 1')]);
    assert.equal(before.key, after.key);
    assert.match(before.key, /^[0-9a-f]{8}$/);
    assert.notEqual(groupsOf([failure('other')])[0].key, before.key);
  });

  it('are sorted by time though the answer is not', () => {
    assert.equal(groupsOf([failure('a', { timestamp: 1 }), failure('b', { timestamp: 2 })])[0].failures[0].message, 'b');
  });

  it('know where: the operator, else the task', () => {
    assert.equal(whereOf(failure('a')), 'check');
    assert.equal(whereOf(failure('a', { failureLabels: {} })), 'Source: orders -> check');
    assert.equal(whereOf({ exceptionName: 'JobStartFailed' }), '');
  });

  it('pass over numbers and ids in messages, but not over words', () => {
    assert.equal(normalised('worker 4711 at 0x7f3a took 1,234.5 s'), 'worker # at # took # s');
    assert.equal(normalised('job 6cc2d4df804734e227f03e3dd0adc306 is gone'), 'job # is gone');
    assert.equal(normalised('id 123e4567-e89b-12d3-a456-426614174000'), 'id #');
    assert.equal(normalised('defaced feedback'), 'defaced feedback');
  });
});

describe('what came after', () => {
  it('counts the restarts since, and tells the state now', () => {
    assert.equal(aftermath({ state: 'RUNNING', restarts: 3, attempt: 0, uptime: 120_000, newest: false }), 'restarted 3 times since; running for 2 m');
    assert.equal(aftermath({ state: 'RUNNING', restarts: 1, attempt: 0, newest: true }), 'restarted once since; running');
    assert.equal(aftermath({ state: 'RESTARTING', restarts: 0, attempt: 0, newest: true }), 'not started again since; being restarted');
    assert.equal(aftermath({ state: 'FAILED', restarts: 2, attempt: 2, newest: true }), 'not started again since; it ended the job');
    assert.equal(aftermath({ state: 'FAILED', restarts: 2, attempt: 1, newest: false }), 'restarted once since; the job failed in the end');
    assert.equal(aftermath({ state: 'CANCELED', newest: true }), 'the job is canceled');
  });
});

const TRACEBACK = `Traceback (most recent call last):
  File "/home/ada/shop.py", line 47, in process_element
    check(value)
  File "/opt/venv/lib/python3.11/site-packages/orders/core.py", line 3, in check
    raise KeyError("address")
    ^^^^^^^^^^^^^^^^^^^^^^^^^
KeyError: 'address'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/work/riverrun/runtime/operators/process.py", line 9, in process
    yield from self.function(value)
  File "/home/ada/shop.py", line 49, in process_element
    raise ValueError("no address") from error
ValueError: no address
  of order 60
`;

describe('tracebacks', () => {
  it('begin with what was raised, then what led to it', () => {
    const [raised, cause] = sectionsOf(TRACEBACK);
    assert.equal(raised.message, 'ValueError: no address\n  of order 60');
    assert.equal(raised.relation, '');
    assert.equal(cause.message, "KeyError: 'address'");
    assert.equal(cause.relation, 'cause');
    assert.deepEqual(cause.frames[1].code, ['raise KeyError("address")', '^^^^^^^^^^^^^^^^^^^^^^^^^']);
    assert.deepEqual(raised.frames.map(({ line, name }) => [line, name]), [[9, 'process'], [49, 'process_element']]);
  });

  it('point at the last frame of the user', () => {
    const [raised, cause] = sectionsOf(TRACEBACK);
    assert.equal(blamed(raised.frames).line, 49);
    assert.equal(blamed(cause.frames).line, 47);
  });

  it('fold frames of others, unless there are no own ones', () => {
    const [raised, cause] = sectionsOf(TRACEBACK);
    assert.deepEqual(runsOf(raised.frames).map(({ own, frames }) => [own, frames.length]), [[false, 1], [true, 1]]);
    assert.deepEqual(runsOf(cause.frames).map(({ own }) => own), [true, false]);
    assert.deepEqual(runsOf([raised.frames[0]]).map(({ own }) => own), [true]);
    assert.deepEqual(runsOf([]), []);
  });

  it('know the own files by where they lie', () => {
    assert.equal(isOwn('/home/ada/riverrun/shop.py'), true);
    assert.equal(isOwn('/home/ada/riverrun/riverrun/runtime/task.py'), false);
    assert.equal(isOwn('/usr/lib/python3.11/json/decoder.py'), false);
    assert.equal(isOwn('<frozen importlib._bootstrap>'), false);
  });

  it('without frames have their words only; other texts are left as they are', () => {
    assert.equal(sectionsOf('WorkerLost: the process 4711 is gone'), null);
    assert.equal(sectionsOf('  + Exception Group Traceback (most recent call last):\n  | ExceptionGroup: two'), null);
    assert.equal(sectionsOf(''), null);
  });

  it('keep a syntax error, which has a frame without a name', () => {
    const [section] = sectionsOf('Traceback (most recent call last):\n  File "/a.py", line 1\n    def (\n        ^\nSyntaxError: invalid syntax\n');
    assert.deepEqual(section.frames[0], { file: '/a.py', line: 1, name: '', code: ['def (', '    ^'], own: true });
    assert.equal(section.message, 'SyntaxError: invalid syntax');
  });
});
