// Jobs that would end with the cluster.

const ENDED = ['FINISHED', 'CANCELED', 'FAILED'];

/** @param {{jid: string, name: string, state: string}[]} jobs */
export function runningJobs(jobs) {
  return jobs.filter(({ state }) => !ENDED.includes(state)).map(({ jid, name }) => ({ id: jid, name }));
}

/** @param {number} running */
export function whatEnds(running) {
  if (running === 0) return 'No job runs. The JobManager and its executors end; this page is no longer served then.';
  const jobs = running === 1 ? '1 running job is' : `${running} running jobs are`;
  return `${jobs} cancelled, and the JobManager and its executors end; this page is no longer served then.`;
}
