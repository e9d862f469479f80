// How a job went over time.

import { html } from '../../core/view.js';

export function TimelinesTab() {
  return html`<p class="muted">How a job went over time.</p>`;
}
