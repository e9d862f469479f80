// The JobManager itself: settings, log, threads.

import { html } from '../core/view.js';

export function JobManager() {
  return html`<p class="muted">The JobManager itself: settings, log, threads.</p>`;
}
