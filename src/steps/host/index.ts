export { prepareDirectories } from './prepare-directories.ts';
