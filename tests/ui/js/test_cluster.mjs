// What the pages of executors and of the JobManager decide.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { busyCores, jobWords, nameOf, seenWords, slotWords, totals } from '../../../riverrun/ui/cluster/executors.js';
import { runningJobs, whatEnds } from '../../../riverrun/ui/cluster/jobs.js';
import { inUnit, lately, line, meaning, Samples, span } from '../../../riverrun/ui/cluster/samples.js';
import { doing, threadsIn } from '../../../riverrun/ui/cluster/stacks.js';

const manager = (facts) => ({
  executor: '0', slotsNumber: 4, freeSlots: 1, assignedTasks: 3, blocked: false,
  hardware: { cpuCores: 2, physicalMemory: 2048, freeMemory: 1024 }, ...facts,
});

test('executors are added up and told in words', () => {
  const all = [manager(), manager({ executor: 'driver', blocked: true, freeSlots: 1024, slotsNumber: 1024, assignedTasks: 0 })];

  assert.deepEqual(totals(all), { slots: 1028, used: 3, cores: 4, tasks: 3, blocked: 1 });
  assert.deepEqual(totals([]), { slots: 0, used: 0, cores: 0, tasks: 0, blocked: 0 });
  assert.deepEqual(all.map(nameOf), ['executor 0', 'driver']);
  assert.equal(slotWords(all[1]), '0 used, 1,024 free');
});

test('when an executor was seen is not more exact than it is known', () => {
  assert.equal(seenWords({ timeSinceLastHeartbeat: 100_000 }, 100_020), 'just now');
  assert.equal(seenWords({ timeSinceLastHeartbeat: 100_900 }, 100_000), 'just now', 'the clocks differ');
  assert.equal(seenWords({ timeSinceLastHeartbeat: 100_000 }, 130_000), '30 s ago');
  assert.equal(seenWords({}, 130_000), '–');
});

test('how busy subtasks are is unknown until one was measured', () => {
  assert.equal(busyCores([]), undefined);
  assert.equal(busyCores([{ busyTimeMsPerSecond: null }]), undefined);
  assert.equal(busyCores([{ busyTimeMsPerSecond: null }, { busyTimeMsPerSecond: 250 }, { busyTimeMsPerSecond: 1000 }]), 1.25);
  assert.equal(jobWords([{ jobId: 'a' }, { jobId: 'a' }]), 'of 1 job');
  assert.equal(jobWords([]), 'of 0 jobs');
});

test('jobs that would end with the cluster are those that have not ended', () => {
  const jobs = [['a', 'RUNNING'], ['b', 'FINISHED'], ['c', 'RESTARTING']].map(([jid, state]) => ({ jid, name: `job ${jid}`, state }));

  assert.deepEqual(runningJobs(jobs), [{ id: 'a', name: 'job a' }, { id: 'c', name: 'job c' }]);
  assert.match(whatEnds(2), /^2 running jobs are cancelled/);
  assert.match(whatEnds(1), /^1 running job is cancelled/);
  assert.match(whatEnds(0), /^No job runs/);
});

test('the text of a thread dump becomes threads with their calls', () => {
  const text = '"a "b" (1/2)#0" daemon Id=1 nid=2\n\tat wait (/lib/python3.11/threading.py:331)\n\tat <lambda> (/x (y)/main.py:7)\n';
  const [thread, empty] = threadsIn([
    { threadName: 'a "b" (1/2)#0', stringifiedThreadInfo: text },
    { threadName: 'none', stringifiedThreadInfo: '"none" Id=3\n' },
  ]);

  assert.equal(thread.facts, 'daemon Id=1 nid=2');
  assert.deepEqual(thread.frames, [
    { call: 'wait', file: '/lib/python3.11/threading.py', line: '331' },
    { call: '<lambda>', file: '/x (y)/main.py', line: '7' },
  ]);
  assert.equal(doing(thread), 'wait in python3.11/threading.py:331');
  assert.equal(doing(empty), 'no Python code');
});

test('samples are kept by name, each moment once, what is no number not at all', () => {
  const samples = new Samples();
  samples.add(1, [{ id: 'a', value: '5' }, { id: 'b', value: 'nan' }, { id: 'c' }]);
  samples.add(1, [{ id: 'a', value: '6' }]);
  for (let at = 2; at <= 400; at += 1) samples.add(at, [{ id: 'a', value: String(at) }]);

  assert.equal(samples.of('a').length, 150);
  assert.deepEqual(samples.of('a').at(-1), { at: 400, value: 400 });
  assert.deepEqual(samples.of('b'), []);
  assert.deepEqual(samples.of('c'), []);
});

test('values are told in the unit that the name means', () => {
  assert.equal(inUnit('Status.JVM.Memory.Heap.Max', 2048), '2 KiB');
  assert.equal(inUnit('Status.Process.CPU.Time', 2e9), '2.0 s');
  assert.equal(inUnit('Status.JVM.GarbageCollector.All.Time', 150), '150 ms');
  assert.equal(inUnit('taskSlotsTotal', 1024), '1,024');
  assert.equal(inUnit('taskSlotsTotal', undefined), '–');
  assert.equal(inUnit('Status.Process.CPU.Time', undefined), '–');
  assert.equal(meaning('numRunningJobs'), 'jobs that run');
  assert.equal(meaning('something.else'), '');
});

test('what a process took of a core is told from its last samples', () => {
  const samples = [0, 1, 2].map((n) => ({ at: n * 1000, value: n * 5e8 }));

  assert.equal(lately('Status.Process.CPU.Time', samples), '50 % of a core lately');
  assert.equal(lately('Status.Process.CPU.Time', samples.slice(0, 1)), '');
  assert.equal(lately('taskSlotsTotal', samples), '');
  assert.equal(span('taskSlotsTotal', [4, 4]), 'always 4');
  assert.equal(span('taskSlotsTotal', [4, 8]), 'from 4 to 8');
  assert.equal(span('Status.Process.CPU.Time', [1e9, 1.001e9]), 'about 1.0 s');
});

test('a small plot spans its box; a flat one lies in the middle', () => {
  const rising = [{ at: 0, value: 1 }, { at: 10, value: 3 }];

  assert.equal(line(rising, 100, 20), '0.0,20.0 100.0,0.0');
  assert.equal(line(rising.map(({ at }) => ({ at, value: 7 })), 100, 20), '0.0,10.0 100.0,10.0');
  assert.equal(line(rising.slice(1), 100, 20), '');
});
