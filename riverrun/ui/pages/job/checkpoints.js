// Checkpoints of a job: all of them, or the one in the address.

import { html } from '../../core/view.js';
import { AllCheckpoints } from '../../checkpoints/overview.js';
import { OneCheckpoint } from '../../checkpoints/one.js';

/** @param {import('./frame.js').TabProps} props */
export function CheckpointsTab({ id, job, names, query }) {
  return 'checkpoint' in names
    ? html`<${OneCheckpoint} key=${names.checkpoint} id=${id} job=${job} checkpoint=${names.checkpoint} chosen=${query.get('vertex')} />`
    : html`<${AllCheckpoints} id=${id} job=${job} />`;
}
