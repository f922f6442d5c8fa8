import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const top = join(import.meta.dirname, '../..');

/** npm as far as the pages need it, as the body of a program of sh: `npm run image` in the tree of the test, whose packages are there. */
export const npmRunImage = `[ "$1 $2" = 'run image' ]; shift 2; [ $# = 0 ] || shift; exec ${process.execPath} ${join(top, 'scripts/image.ts')} "$@"`;

/** Runs a command of a page that makes the image. */
export async function runImageCommand(command: string): Promise<void> {
  const script = `npm() (\n${npmRunImage}\n)\n${command}`;
  await promisify(execFile)('sh', ['-euc', script]);
}
