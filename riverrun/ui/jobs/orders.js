// What the JobManager is asked to do with a job. Each ends when it is done, or throws why it is not.

import { get, operation, send } from '../core/api.js';
import { isOver } from './glance.js';

const PAUSE_MS = 500;

/** @param {string} job @returns {Promise<string>} the state in which it ended */
export async function cancel(job) {
  await send('PATCH', `/jobs/${job}?mode=cancel`);
  for (;;) {
    const { status } = await get(`/jobs/${job}/status`);
    if (isOver(status)) return status;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

/** @param {string} job @returns {Promise<{checkpointId?: number, location?: string}>} */
export function checkpoint(job) {
  return operation('POST', `/jobs/${job}/checkpoints`, {}, (request) => `/jobs/${job}/checkpoints/${request}`);
}

/** @param {string} job @param {FormData} form @returns {Promise<{location: string}>} */
export function savepoint(job, form) {
  const body = { 'target-directory': textOf(form, 'target') };
  return operation('POST', `/jobs/${job}/savepoints`, body, (request) => `/jobs/${job}/savepoints/${request}`);
}

/** @param {string} job @param {FormData} form @returns {Promise<{location: string}>} */
export function stop(job, form) {
  const body = { targetDirectory: textOf(form, 'target'), drain: form.has('drain') };
  return operation('POST', `/jobs/${job}/stop`, body, (request) => `/jobs/${job}/savepoints/${request}`);
}

/** @param {string} job @param {number} parallelism */
export function rescale(job, parallelism) {
  return operation('PATCH', `/jobs/${job}/rescaling?parallelism=${parallelism}`, {}, (request) => `/jobs/${job}/rescaling/${request}`);
}

/** @param {FormData} form @param {string} name */
function textOf(form, name) {
  return String(form.get(name) ?? '').trim() || null;
}
