// How a job is set up.

import { html } from '../../core/view.js';

export function ConfigurationTab() {
  return html`<p class="muted">How a job is set up.</p>`;
}
