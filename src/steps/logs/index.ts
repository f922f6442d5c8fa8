export { announce } from './logs.ts';
export { upload } from './logs.ts';
