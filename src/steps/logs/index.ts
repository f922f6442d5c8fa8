export { announceLogs as announce } from './logs.ts';
export { uploadLogs as upload } from './logs.ts';
