// How a job takes checkpoints.

import { html } from '../core/view.js';
import { useLive } from '../core/live.js';
import { Facts } from '../parts/figures.js';
import { Answer } from '../parts/notice.js';
import { OFF } from './health.js';
import { settingsWords } from './words.js';

/** @param {{job: string}} props */
export function CheckpointSettings({ job }) {
  const live = useLive(`/jobs/${job}/checkpoints/config`, Infinity);
  return html`<${Answer} of=${live} what="how checkpoints are taken" gone=${OFF}>
    ${(/** @type {any} */ config) => html`<${Facts} items=${settingsWords(config)} />`}
  <//>`;
}
