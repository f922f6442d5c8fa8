/**
 * Words that name the action of a program with several actions: their number after the program,
 * without options.
 */
const verbs: Readonly<Record<string, number>> = {
  bootc: 1,
  dmsetup: 1,
  openssl: 1,
  ostree: 3,
  'rpm-ostree': 1,
  skopeo: 1,
  systemctl: 1,
};

/** Options that name the action of a program without such words. */
const namingOptions: Readonly<Record<string, readonly string[]>> = {
  buildah: ['--version'],
  efibootmgr: ['--delete-bootnum', '-c', '--bootorder', '-v', '-l'],
  fsfreeze: ['--freeze', '--unfreeze'],
  mdadm: ['--stop', '--zero-superblock'],
  podman: ['--version'],
  'rpm-ostree': ['--version'],
  skopeo: ['--config', '--raw', '--format'],
};

const podmanVerbs = ['run', 'start', 'build', 'push', 'rm', 'rmi', 'ps', 'info', 'images'];

/** Names a command as the table of faults does: `systemctl start`, `efibootmgr -v`, `lsblk`. */
export function commandName([program = '', ...words]: readonly string[]): string {
  if (words[0] === '-c' && /^(?:ba)?sh$/.test(program)) return shellName(program, words[1] ?? '');
  const verb =
    program === 'podman'
      ? words.filter((word) => podmanVerbs.includes(word)).slice(0, 1)
      : beforeOptions(words).slice(0, verbs[program] ?? 0);
  const option = namingOptions[program]?.find((one) => words.includes(one));
  return [program, ...verb, ...(option === undefined ? [] : [option])].join(' ');
}

/** The name of a script: its program, or the verb of a script of RHCOS. */
function shellName(shell: string, script: string): string {
  const asked = /transposefs\.sh(?: \| bash -s)? ([\w-]+)/.exec(script)?.[1];
  return asked === undefined ? `${shell}: ${script.split(' ')[0]}` : `${shell}: ${asked}`;
}

function beforeOptions(words: readonly string[]): readonly string[] {
  const end = words.findIndex((word) => word.startsWith('-'));
  return end === -1 ? words : words.slice(0, end);
}
