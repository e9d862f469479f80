// Submit a program: upload it, say how it is to be run, look at its plan, run it.

import { html, useState } from '../core/view.js';
import { send } from '../core/api.js';
import { useLive } from '../core/live.js';
import { go } from '../core/router.js';
import { JobGraph } from '../parts/jobGraph.js';
import { Answer, Notice } from '../parts/notice.js';
import { Panel } from '../parts/panel.js';
import { OrderForm } from '../submit/form.js';
import { EMPTY, planBody, problemsOf, runBody } from '../submit/order.js';
import { Programs } from '../submit/programs.js';

/** A program may take this long to define its job; the JobManager waits two minutes. */
const PATIENCE_MS = 150_000;

/** @param {{query: URLSearchParams}} props */
export function Submit({ query }) {
  const config = useLive('/config', Infinity);
  const savepoint = query.get('savepoint') ?? '';
  return html`
    <h1>Submit a program</h1>
    <${Answer} of=${config} what="what this JobManager offers">
      ${(/** @type {any} */ { features }) => features['web-submit']
        ? html`<${Order} key=${savepoint} savepoint=${savepoint} />`
        : html`<${Notice} tone="wait">This JobManager takes no programs: it runs one of its own, or <code>web.submit.enable</code> is off.
            <span>A job can be sent to a cluster with <code>river run -m host:port program.py</code>.</span><//>`}
    <//>`;
}

/** @param {{savepoint: string}} props */
function Order({ savepoint }) {
  const programs = useLive('/jars', 3000);
  const [wanted, choose] = useState('');
  const [fields, setFields] = useState({ ...EMPTY, savepoint });
  const files = programs.value?.files ?? [];
  const program = files.find((/** @type {any} */ file) => file.id === wanted) ?? files[0];
  return html`
    ${savepoint && html`<${Notice}><span>Choose the program that is to start from <code class="outcome-path">${savepoint}</code>, or upload it.</span><//>`}
    <${Panel} title="Program" flush=${true}>
      <${Answer} of=${programs} what="the programs">
        ${() => html`<${Programs} files=${files} chosen=${program?.id} choose=${choose} />`}
      <//>
    <//>
    ${program && html`<${HowToRun} key=${program.id} program=${program} fields=${fields} change=${(/** @type {object} */ changed) => setFields((now) => ({ ...now, ...changed }))} />`}`;
}

/** @param {{program: any, fields: import('../submit/order.js').Fields, change: (changed: object) => void}} props */
function HowToRun({ program, fields, change }) {
  const [busy, setBusy] = useState('');
  const [failure, setFailure] = useState('');
  const [plan, setPlan] = useState(/** @type {any} */ (undefined));
  const path = `/jars/${encodeURIComponent(program.id)}`;
  const attempt = async (/** @type {string} */ words, /** @type {() => Promise<void>} */ act) => {
    setBusy(words);
    setFailure('');
    setPlan(undefined);
    try {
      await act();
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
    }
    setBusy('');
  };
  const show = () => attempt('The program defines its job, which is not run …', async () => {
    setPlan((await send('POST', `${path}/plan`, { json: planBody(fields, program.name), patience: PATIENCE_MS })).plan);
  });
  const run = () => attempt('The program defines its job and sends it …', async () => {
    const { jobid } = await send('POST', `${path}/run`, { json: runBody(fields, program.name), patience: PATIENCE_MS });
    go('/jobs', jobid);
  });
  const submit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    run();
  };
  const stuck = Boolean(busy) || Object.keys(problemsOf(fields)).length > 0;
  return html`
    <${Panel} title=${`Run ${program.name}`}>
      <form class="run" onSubmit=${submit}>
        <${OrderForm} program=${program.name} fields=${fields} change=${change} />
        <div class="buttons">
          <button type="button" class="button" disabled=${stuck} onClick=${show}>Show plan</button>
          <button type="submit" class="button primary" disabled=${stuck}>Run</button>
          <span class="muted" role="status">${busy}</span>
        </div>
        ${failure && html`<${Notice} tone="bad"><strong>The program did not get so far:</strong><pre>${failure}</pre><//>`}
      </form>
    <//>
    ${plan && html`<${Panel} title="Plan" flush=${true}><${JobGraph} plan=${plan} label=${`What ${program.name} would run`} /><//>`}`;
}
