// The step that the bootstrap host runs, leave-job.ts, is not here: it does without the parser of
// certificate requests that the others need.
export { approveOwnRequests } from './approve-requests.ts';
export { readLeftRecord } from './read-record.ts';
export { removeRecord } from './remove-record.ts';
