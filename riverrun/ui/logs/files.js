// The log files of a process: which comes first, and what each of them is.

/** @typedef {{name: string, size: number, mtime: number}} LogFile */

const OF_JOB = /^job-([0-9a-f]{32})\.(log|out)(?:\.(\d+))?$/;
const OF_PROCESS = /^(jobmanager|taskmanager).*\.(log|out)(?:\.(\d+))?$/;

/**
 * What a file is, in words.
 * @param {string} name
 * @param {Record<string, string>} jobs names of jobs by their ids
 */
export function describe(name, jobs) {
  const ofJob = OF_JOB.exec(name);
  if (ofJob) {
    const job = jobs[ofJob[1]] ? `the job ${jobs[ofJob[1]]}` : 'a job that is no longer known';
    return older(ofJob[2] === 'out' ? `what ${job} printed` : `the JobManager about ${job}`, ofJob[3]);
  }
  const ofProcess = OF_PROCESS.exec(name);
  if (!ofProcess) return '';
  const who = ofProcess[1] === 'jobmanager' ? 'the JobManager' : 'the tasks';
  return older(ofProcess[2] === 'out' ? `what ${who} printed` : `log of ${who}`, ofProcess[3]);
}

/** @param {string} words @param {string | undefined} number */
function older(words, number) {
  return number ? `${words}, earlier part ${number}` : words;
}

/** The process' own files first, then those of jobs, the latest first. @param {LogFile[]} files */
export function inOrder(files) {
  const rank = (/** @type {LogFile} */ file) => (file.name.startsWith('job-') ? 1 : 0);
  return [...files].sort((a, b) => rank(a) - rank(b) || b.mtime - a.mtime || (a.name < b.name ? -1 : 1));
}

/** The file that is shown when none was chosen: the log of the process, else the first. @param {LogFile[]} files */
export function mainFile(files) {
  const own = files.find(({ name }) => !name.startsWith('job-') && name.endsWith('.log'));
  return (own ?? inOrder(files)[0])?.name;
}
