// All pages by their address, and those that are always in reach.

import { link } from '../core/router.js';
import { Overview } from './overview.js';
import { JobManager } from './jobManager.js';
import { StateBrowser } from './state.js';
import { Submit } from './submit.js';
import { TaskManager } from './taskManager.js';
import { TaskManagers } from './taskManagers.js';
import { CheckpointsTab } from './job/checkpoints.js';
import { ConfigurationTab } from './job/configuration.js';
import { ExceptionsTab } from './job/exceptions.js';
import { FlameTab } from './job/flame.js';
import { GraphTab } from './job/graph.js';
import { StateTab } from './job/state.js';
import { TimelinesTab } from './job/timelines.js';
import { VertexTab } from './job/vertex.js';
import { ofJob } from './job/frame.js';

/** @type {readonly import('../core/router.js').Page[]} */
export const PAGES = [
  { path: '/', title: 'Jobs', view: Overview },
  { path: '/jobs/:job', title: 'Job', view: ofJob(GraphTab) },
  { path: '/jobs/:job/timelines', title: 'Time lines', view: ofJob(TimelinesTab) },
  { path: '/jobs/:job/checkpoints', title: 'Checkpoints', view: ofJob(CheckpointsTab) },
  { path: '/jobs/:job/checkpoints/:checkpoint', title: 'Checkpoint', view: ofJob(CheckpointsTab) },
  { path: '/jobs/:job/exceptions', title: 'Exceptions', view: ofJob(ExceptionsTab) },
  { path: '/jobs/:job/state', title: 'State', view: ofJob(StateTab) },
  { path: '/jobs/:job/configuration', title: 'Configuration', view: ofJob(ConfigurationTab) },
  { path: '/jobs/:job/vertices/:vertex', title: 'Vertex', view: ofJob(VertexTab) },
  { path: '/jobs/:job/vertices/:vertex/flame', title: 'Flame graph', view: ofJob(FlameTab) },
  { path: '/submit', title: 'Submit', view: Submit },
  { path: '/taskmanagers', title: 'Task managers', view: TaskManagers },
  { path: '/taskmanagers/:manager', title: 'Task manager', view: TaskManager },
  { path: '/jobmanager', title: 'JobManager', view: JobManager },
  { path: '/state', title: 'State', view: StateBrowser },
];

export const NAVIGATION = [
  { title: 'Jobs', href: link('/') },
  { title: 'Submit', href: link('/submit') },
  { title: 'Task managers', href: link('/taskmanagers') },
  { title: 'JobManager', href: link('/jobmanager') },
  { title: 'State', href: link('/state') },
];
