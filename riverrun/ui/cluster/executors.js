// What is said of executors, which are the task managers here.

import { ago, bytes, exact, known } from '../core/format.js';

const JUST_NOW_MS = 5000;

/** @typedef {any} Manager an entry of GET /taskmanagers */

/** @param {Manager} manager */
export function usedSlots(manager) {
  return manager.slotsNumber - manager.freeSlots;
}

/** @param {Manager} manager */
export function slotWords(manager) {
  return `${exact(usedSlots(manager))} used, ${exact(manager.freeSlots)} free`;
}

/** @param {Manager} manager */
export function usedMemory(manager) {
  return manager.hardware.physicalMemory - manager.hardware.freeMemory;
}

/** @param {Manager} manager */
export function memoryWords(manager) {
  return `${bytes(usedMemory(manager))} of ${bytes(manager.hardware.physicalMemory)}`;
}

/** What an executor is called: Spark's number, or that it is the driver. @param {Manager} manager */
export function nameOf(manager) {
  return manager.executor === 'driver' ? 'driver' : `executor ${manager.executor}`;
}

/** When Spark last told of it. @param {Manager} manager @param {number} [now] */
export function seenWords({ timeSinceLastHeartbeat: seen }, now = Date.now()) {
  return known(seen) && now - seen < JUST_NOW_MS ? 'just now' : ago(seen, now);
}

/** @param {Manager[]} managers */
export function totals(managers) {
  const sum = (/** @type {(manager: Manager) => number} */ of) => managers.reduce((all, manager) => all + of(manager), 0);
  return {
    slots: sum((manager) => manager.slotsNumber),
    used: sum(usedSlots),
    cores: sum((manager) => manager.hardware.cpuCores),
    tasks: sum((manager) => manager.assignedTasks),
    blocked: managers.filter((manager) => manager.blocked).length,
  };
}

/** @param {{jobId: string}[]} subtasks */
export function jobWords(subtasks) {
  const jobs = new Set(subtasks.map(({ jobId }) => jobId)).size;
  return jobs === 1 ? 'of 1 job' : `of ${exact(jobs)} jobs`;
}

/**
 * How busy subtasks are together, as a number of cores; undefined while none was measured.
 * @param {{busyTimeMsPerSecond: number | null}[]} subtasks
 */
export function busyCores(subtasks) {
  const measured = subtasks.map((subtask) => subtask.busyTimeMsPerSecond).filter(known);
  return measured.length ? measured.reduce((a, b) => a + b, 0) / 1000 : undefined;
}
