// The programs that were uploaded: one is chosen, new ones are dropped here.

import { html, classes, useRef, useState } from '../core/view.js';
import { send } from '../core/api.js';
import { refreshAll } from '../core/live.js';
import { moment, percent } from '../core/format.js';
import { Action } from '../parts/dialog.js';
import { Bar } from '../parts/bars.js';
import { Notice } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { whyNoProgram } from './order.js';
import { upload } from './upload.js';

/** @param {{files: any[], chosen: string | undefined, choose: (id: string) => void}} props */
export function Programs({ files, chosen, choose }) {
  const columns = [
    {
      title: 'Program', by: (/** @type {any} */ file) => file.name,
      cell: (/** @type {any} */ file) => html`<label class="check"><input type="radio" name="program" checked=${file.id === chosen} onChange=${() => choose(file.id)} />${file.name}</label>`,
    },
    { title: 'Uploaded', cell: (/** @type {any} */ file) => html`<span class="nowrap">${moment(file.uploaded)}</span>`, by: (/** @type {any} */ file) => file.uploaded },
    { title: 'Delete', cell: (/** @type {any} */ file) => html`<${Delete} file=${file} />` },
  ];
  return html`
    <${Drop} uploaded=${choose} />
    <${Table} caption="Uploaded programs" columns=${columns} rows=${files} rowKey=${(/** @type {any} */ file) => file.id}
      empty="No program was uploaded yet." />`;
}

/** @param {{file: any}} props */
function Delete({ file }) {
  return html`<${Action} label=${html`Delete<span class="hidden-words"> ${file.name}</span> …`} title=${`Delete “${file.name}”?`} confirm="Delete the program" danger=${true}
    act=${() => send('DELETE', `/jars/${encodeURIComponent(file.id)}`)}>
    <p>The file is deleted from the JobManager. Jobs that it started go on.</p>
  <//>`;
}

/** A place for files: dropped, or picked. @param {{uploaded: (id: string) => void}} props */
function Drop({ uploaded }) {
  const [over, setOver] = useState(false);
  const [share, setShare] = useState(/** @type {number | undefined} */ (undefined));
  const [failure, setFailure] = useState('');
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  const take = async (/** @type {File | undefined} */ file) => {
    if (!file || share !== undefined) return;
    const why = whyNoProgram(file.name);
    setFailure(why ?? '');
    if (why) return;
    setShare(0);
    try {
      uploaded(await upload(file, setShare));
      refreshAll();
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
    }
    setShare(undefined);
    if (field.current) field.current.value = '';
  };
  const hover = (/** @type {boolean} */ is) => (/** @type {DragEvent} */ event) => {
    event.preventDefault();
    setOver(is);
  };
  const drop = (/** @type {DragEvent} */ event) => {
    hover(false)(event);
    take(event.dataTransfer?.files[0]);
  };
  return html`<div class=${classes('drop', over && 'over')} onDragOver=${hover(true)} onDragLeave=${hover(false)} onDrop=${drop}>
    <label class="field"><span>Upload a program</span>
      <input ref=${field} type="file" accept=".py,.zip" onChange=${(/** @type {any} */ event) => take(event.target.files[0])} />
      <small>A .py file, or a .zip with a __main__.py. It can be dropped here.</small></label>
    ${share !== undefined && html`<p role="status">Uploading, ${percent(share)} <${Bar} value=${share} most=${1} label=${`${percent(share)} are sent`} /></p>`}
    ${failure && html`<${Notice} tone="bad"><pre>${failure}</pre><//>`}
  </div>`;
}
