import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { partFolder } from '../../scripts/parts/part.ts';
import { s3Server } from '../../scripts/parts/s3-server.ts';
import { controlProgram, freePort } from '../../mocks/kube/program.ts';

/** A real S3 server over a folder of its own. */
export interface RealStore extends AsyncDisposable {
  readonly url: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

const credentials = { accessKeyId: 'bootwright', secretAccessKey: 'a-secret-of-the-test' } as const;

/** Starts versitygw on loopback with these objects, by `bucket/key`. */
export async function startStore(objects: Readonly<Record<string, string>>): Promise<RealStore> {
  const folder = await mkdtemp(join(tmpdir(), 'bootwright-s3-'));
  const buckets = join(folder, 'buckets');
  for (const [name, content] of Object.entries(objects)) {
    await mkdir(dirname(join(buckets, name)), { recursive: true });
    await writeFile(join(buckets, name), content);
  }
  // Some file systems of test machines have no extended attributes; a sidecar keeps them.
  const sidecar = join(folder, 'sidecar');
  await mkdir(sidecar);
  const address = `127.0.0.1:${await freePort()}`;
  const url = `http://${address}`;
  const server = controlProgram({
    name: 'versitygw',
    program: 'env',
    args: [
      ...[`ROOT_ACCESS_KEY=${credentials.accessKeyId}`],
      ...[`ROOT_SECRET_KEY=${credentials.secretAccessKey}`],
      join(partFolder(s3Server), 'bin', 'versitygw'),
      ...['--port', address, 'posix', '--sidecar', sidecar, buckets],
    ],
    logFile: join(folder, 'log'),
    isReady: async () => (await fetch(url)).status > 0,
  });
  await server.start();
  return {
    url,
    ...credentials,
    [Symbol.asyncDispose]: async () => {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
