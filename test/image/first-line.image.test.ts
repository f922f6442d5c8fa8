// The command line with which the project began: the container sees the host's processes and
// devices, and mounts nothing else.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PutBucketPolicyCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { coreosInstaller } from '../../scripts/parts/coreos-installer.ts';
import { ensureParts } from '../../scripts/parts/ensure.ts';
import { cacheFolder, partFolder } from '../../scripts/parts/part.ts';
import { s3Server } from '../../scripts/parts/s3-server.ts';
import { debianRoot } from '../../scripts/parts/scripted.ts';
import { tinyDisk } from '../../scripts/parts/tiny-disk.ts';
import { releaseScript } from '../../src/cluster/release.ts';
import { PULL_SECRET_PATH } from '../../src/ignition/resource.ts';
import { createTestFolder, type TestFolder } from '../guest/rig/test-folder.ts';
import { shownOn } from '../guides/follow-guide.ts';
import { createLoopDisk, type LoopDisk, readDisk } from '../installer/loop-disk.ts';
import { type RealStore, startStore } from '../objects/versitygw.ts';
import { buildAgentImage, openContainerStore } from '../support/container-store.ts';
import { onOwnMachine } from './own-machine.ts';

const image = 'localhost/bootwright-test:first-line';
const operator = 'localhost/bootwright-test-operator';
const release = 'localhost/bootwright-test-release';
const store = openContainerStore();
/** Folder of the parts and the images, which may be below /root. */
const parts = dirname(cacheFolder());
const clusterId = 'c1';
const bucket = 'ignition';

const file = (path: string, text: string): object => ({
  path,
  overwrite: true,
  contents: { source: `data:,${encodeURIComponent(text)}` },
});
const ignitionWith = (...files: readonly object[]): string =>
  JSON.stringify({ ignition: { version: '3.2.0' }, storage: { files } });
const ignitionOf = (role: string): string => ignitionWith(file(`/etc/${role}`, role));

let objects: RealStore;
let folder: TestFolder;
let disk: LoopDisk;

beforeAll(async () => {
  await ensureParts([coreosInstaller, tinyDisk, s3Server, debianRoot]);
  folder = createTestFolder('first-line');
  await buildAgentImage(store, image);
  objects = await startStore({
    [`${bucket}/${clusterId}/master.ign`]: ignitionOf('master'),
    [`${bucket}/${clusterId}/worker.ign`]: ignitionOf('worker'),
    [`${bucket}/${clusterId}/bootstrap.ign`]: ignitionWith(
      file(PULL_SECRET_PATH, '{"auths":{}}'),
      file(releaseScript, `RELEASE_IMAGE_DIGEST="${await buildRelease()}"\n`),
    ),
  });
  await openToAll(objects);
});

afterAll(async () => {
  await objects[Symbol.asyncDispose]();
  for (const name of [image, operator, release]) await store.run('podman', 'untag', name);
  folder[Symbol.dispose]();
});

beforeEach(() => {
  disk = createLoopDisk(join(folder.path, 'disk.raw'), 4096);
});

afterEach(() => {
  disk[Symbol.dispose]();
});

/** The command line has no credentials: everybody may read. */
async function openToAll({ url, accessKeyId, secretAccessKey }: RealStore): Promise<void> {
  const credentials = { accessKeyId, secretAccessKey };
  const settings = { endpoint: url, region: 'us-east-1', forcePathStyle: true };
  const client = new S3Client({ ...settings, credentials });
  const allowed = { Effect: 'Allow', Principal: '*', Action: 's3:GetObject' };
  const Policy = JSON.stringify({
    Statement: [{ ...allowed, Resource: `arn:aws:s3:::${bucket}/*` }],
  });
  await client.send(new PutBucketPolicyCommand({ Bucket: bucket, Policy }));
  client.destroy();
}

/** Builds an image of one program on Debian, and returns its name by digest. */
async function buildProgram(name: string, path: string, script: string): Promise<string> {
  const context = join(folder.path, 'context');
  mkdirSync(context, { recursive: true });
  copyFileSync(join(partFolder(debianRoot), 'root.tar'), join(context, 'root.tar'));
  writeFileSync(join(context, 'program'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const lines = [
    'FROM scratch',
    'ADD root.tar /',
    `COPY program ${path}`,
    `ENTRYPOINT ["${path}"]`,
  ];
  writeFileSync(join(context, 'Containerfile'), `${lines.join('\n')}\n`);
  await store.run('buildah', 'build', '--layers', '--tag', name, context);
  const format = ['--format', '{{.Digest}}', name] as const;
  return `${name}@${await store.run('podman', 'image', 'inspect', ...format)}`;
}

/** A release with a machine-config-operator whose daemon records its calls on the host. */
async function buildRelease(): Promise<string> {
  const daemon = '/usr/bin/machine-config-daemon';
  const named = await buildProgram(
    operator,
    daemon,
    'mkdir -p /rootfs/opt/openshift/openshift && echo "$*" > /rootfs/opt/applied',
  );
  return buildProgram(
    release,
    '/usr/bin/cluster-version-operator',
    `[ "$*" = 'image machine-config-operator' ] && echo ${named}`,
  );
}

/**
 * Parts of a live host that the machine of the test lacks: the image on its medium, the image
 * writer, udevd with its settled queue, OpenShift's client, and a systemd that accepts a reboot.
 * Its lsblk and blkid know one disk, so that no program reads other disks of this machine. Its
 * udevadm does the work of udevd: the kernel may not know GPT, and lsblk asks udev for labels.
 * Changes to /etc, /root and /usr/bin end with it. A container without network options gets a
 * network without a route to the outside.
 */
const liveHost = (device: string): string => `
  mkdir -p /run/media/iso/images /run/udev/data
  cp ${join(partFolder(tinyDisk), 'tiny-512.raw.zst')} /run/media/iso/images/metal.x86_64.raw.zst
  : > /run/udev/control
  : > /run/calls
  for folder in /etc /usr/bin /usr/local/sbin; do
    mkdir -p /run/own$folder/upper /run/own$folder/work
    mount -t overlay own -o lowerdir=$folder,upperdir=/run/own$folder/upper,workdir=/run/own$folder/work $folder
  done
  mkdir /run/parts
  mount --rbind ${parts} /run/parts
  mount -t tmpfs own /root
  mkdir -p ${parts}
  mount --rbind /run/parts ${parts}
  put() { printf '#!/bin/sh\\n%s\\n' "$2" > $1; chmod +x $1; }
  put /usr/local/sbin/udevadm 'partx --update ${device} 2> /dev/null
for part in ${device}p*; do
  [ -b $part ] || continue
  data=/run/udev/data/b$(/usr/bin/lsblk --nodeps --noheadings --output MAJ:MIN $part | tr -d " ")
  (echo I:1; /usr/sbin/blkid --probe --output udev $part | sed s/^/E:/) > $data
done'
  put /usr/local/sbin/lsblk 'exec /usr/bin/lsblk "$@" ${device}'
  put /usr/local/sbin/blkid '[ "$3" != -o ] || exec echo ${device}; exec /usr/sbin/blkid "$@"'
  for name in systemctl shutdown hostnamectl systemd-run busctl; do
    put /usr/local/sbin/$name 'echo "'$name' $*" >> /run/calls'
  done
  put /usr/bin/oc ''
  put /usr/bin/rpm-ostree ''
  cp ${join(partFolder(coreosInstaller), 'bin/coreos-installer')} /usr/local/sbin/
  cp $CONTAINERS_CONF /run/containers.conf
  sed -i '/^.containers.$/a netns = "none"' /run/containers.conf
  export CONTAINERS_CONF=/run/containers.conf
  cat > /usr/local/sbin/podman <<'END'
#!/bin/bash
export CONTAINERS_STORAGE_CONF=/run/storage.conf CONTAINERS_CONF=/run/containers.conf
if [ "$1" = run ]; then
  case "$*" in *--privileged*) own= ;; *) own=--cgroups=disabled ;; esac
  set -- run $own --pids-limit=0 --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 "\${@:2}"
fi
exec /usr/bin/podman "$@"
END
  chmod +x /usr/local/sbin/podman
`;

/**
 * Runs the page's command line for a role on a separate host; `meanwhile` is a script that runs at
 * the same time.
 */
const install = (role: string, meanwhile = '') =>
  onOwnMachine(
    store,
    `${liveHost(disk.device)}
     ${shownOn('docs/image.md', 'podman run --privileged --pid=host -v /dev:/dev:rw -e CLUSTER_ID')
       .replace('IMAGE', image)
       .replace('master', role)} & run=$!
     ${meanwhile}
     code=0; wait $run || code=$?
     echo CALLS; cat /run/calls
     echo FILES; find /opt /var/log /root -maxdepth 2 -type f -printf '%f\\n'
     exit $code`,
    { CLUSTER_ID: clusterId, BUCKET: bucket, S3_URL: objects.url, DEVICE: disk.device },
  );

/** The Ignition in the boot partition of the tiny disk; the partition begins at 10 MiB. */
function writtenIgnition(): unknown {
  const raw = readFileSync(join(partFolder(tinyDisk), 'tiny-512.raw'));
  expect(readDisk(disk.path, 0, 440)).toEqual(raw.subarray(0, 440));
  const script = 'debugfs -R "cat /ignition/config.ign" "$0?offset=10485760" 2> /dev/null';
  return JSON.parse(execFileSync('sh', ['-euc', script, disk.path]).toString());
}

describe('podman run --privileged --pid=host -v /dev:/dev:rw', () => {
  it.each(['master', 'worker'])('installs a %s', async (role) => {
    const { exitCode, stdout, stderr } = await install(role);
    expect(exitCode, stderr + stdout).toBe(0);
    expect(stdout).toMatch(/^CALLS\n[^]*^shutdown -r /m);
    expect(stdout).toMatch(/^FILES\n[^]*^journal\.jsonl$[^]*^assisted-installer\.log$/m);
    expect(writtenIgnition()).toEqual(JSON.parse(ignitionOf(role)));
  });

  it('runs a bootstrap host up to its wait for two masters', async () => {
    const { stdout, stderr } = await install(
      'bootstrap',
      `until grep -qs '"disk/set-boot-entry"' /opt/install-dir/journal.jsonl && grep -q 'start bootkube' /run/calls; do
         [ -d /proc/$run ] || break
         sleep 0.5
       done
       cat /opt/applied
       podman stop --time 10 $(podman ps --quiet) > /dev/null || true`,
    );
    expect(stdout, stderr).toContain('--once-from /opt/install-dir/bootstrap.ign --skip-reboot');
    expect(stdout).toMatch(/^CALLS\n[^]*^systemctl start bootkube\.service$/m);
    expect(stdout).not.toMatch(/^shutdown/m);
    expect(stdout).toMatch(/^id_rsa$/m);
    expect(writtenIgnition()).toEqual(JSON.parse(ignitionOf('master')));
  });
});
