// The state of a job, task or checkpoint as a coloured word.

import { html, classes } from '../core/view.js';

/** @type {Record<string, string>} */
const TONES = {
  RUNNING: 'good', FINISHED: 'good', COMPLETED: 'good',
  CREATED: 'wait', SCHEDULED: 'wait', DEPLOYING: 'wait', INITIALIZING: 'wait', RESTARTING: 'wait',
  RECONCILING: 'wait', CANCELLING: 'wait', CANCELING: 'wait', IN_PROGRESS: 'wait', SUSPENDED: 'wait',
  FAILING: 'bad', FAILED: 'bad',
};

/** @param {{state: string, children?: any}} props */
export function Badge({ state, children }) {
  return html`<span class=${classes('badge', TONES[state])} data-state=${state}>${children ?? inWords(state)}</span>`;
}

/** IN_PROGRESS → 'in progress'. @param {string} state */
export function inWords(state) {
  return state.toLowerCase().replaceAll('_', ' ');
}
