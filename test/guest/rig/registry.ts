import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { partFolder } from '../../../scripts/parts/part.ts';
import { imageRegistry } from '../../../scripts/parts/servers.ts';
import { openSerialLog } from './serial-log.ts';

const run = promisify(execFile);

/** A registry of container images on loopback, without TLS. */
export interface ImageRegistry extends AsyncDisposable {
  readonly port: number;
  /** Pushes an image of an OCI layout, `FOLDER:TAG`, under a name, and returns its digest there. */
  readonly push: (layout: string, name: string) => Promise<string>;
  /** What it said so far, with a line in the combined format for each request. */
  readonly log: () => string;
}

/** Starts the registry; its images and its log lie in a folder of the test. */
export async function startRegistry(folder: string): Promise<ImageRegistry> {
  mkdirSync(folder);
  const at = (name: string): string => join(folder, name);
  const settings = {
    version: '0.1',
    log: { accesslog: { disabled: false } },
    storage: { filesystem: { rootdirectory: at('images') } },
    http: { addr: '127.0.0.1:0' },
  };
  // JSON is YAML too.
  writeFileSync(at('settings.yaml'), JSON.stringify(settings));
  const log = openSync(at('log.txt'), 'w');
  const program = join(partFolder(imageRegistry), 'bin', 'docker-registry');
  // The kernel ends it when the test's process ends, in whatever way.
  const argv = ['--pdeathsig', 'KILL', '--', program, 'serve', at('settings.yaml')];
  const child = spawn('setpriv', argv, { stdio: ['ignore', log, log] });
  closeSync(log);
  const gone = once(child, 'close').then(() => 'too early');
  const line = await openSerialLog(at('log.txt'), gone).waitForLine(/listening on 127/, 60);
  const port = Number(/127\.0\.0\.1:(\d+)/.exec(line)?.[1]);
  return {
    port,
    push: async (layout, name) => {
      const target = `docker://127.0.0.1:${port}/${name}`;
      const options = ['--quiet', '--dest-tls-verify=false', '--digestfile', at('digest')];
      await run('skopeo', ['copy', ...options, `oci:${layout}`, target]);
      return readFileSync(at('digest'), 'utf8').trim();
    },
    log: () => readFileSync(at('log.txt'), 'utf8'),
    async [Symbol.asyncDispose]() {
      child.kill();
      await gone;
    },
  };
}
