import { embeddedFile, PULL_SECRET_PATH } from './resource.ts';
import type { Config } from './types.ts';

/** What a live system needs to run the agent, once for a boot. */
export interface LiveAgent {
  readonly image: string;
  /** The command line of the agent, behind its image. */
  readonly args: readonly string[];
  /** Ends once the image is on the host. */
  readonly pull: readonly string[];
  /** Runs whenever the agent has ended. */
  readonly afterwards?: readonly string[];
  /** Text of a .dockerconfigjson. */
  readonly pullSecret?: string | undefined;
  /** Values of HTTP_PROXY, HTTPS_PROXY and NO_PROXY; `''` for none. */
  readonly proxy?: Readonly<Record<string, string | undefined>>;
  /** PEM of authorities that the live system trusts beside its own. */
  readonly trustBundle?: string | undefined;
  readonly sshAuthorizedKeys?: readonly string[] | undefined;
  /** Further files: path, text, mode. */
  readonly files: readonly LiveFile[];
}

/** A file of the live system; none where its text is undefined. */
export type LiveFile = readonly [path: string, text: string | Buffer | undefined, mode: number];

/** Where the agent finds what is its own; its container sees the folder unchanged. */
export const agentFolder = '/etc/bootwright';

/** Files of the live system that are not the agent's own. */
export const livePaths = {
  proxy: `${agentFolder}/proxy.env`,
  pullSecret: PULL_SECRET_PATH,
  trust: '/etc/pki/ca-trust/source/anchors/bootwright.crt',
} as const;

/** The unit that runs the agent. */
export const agentUnitName = 'bootwright.service';

/**
 * The Ignition of a live system that runs the agent. Its version is one that every CoreOS since
 * OpenShift 4.7 reads.
 */
export const liveConfig = (agent: LiveAgent): Config => ({
  ignition: { version: '3.2.0' },
  ...passwdOf(agent),
  storage: {
    files: liveFiles(agent).flatMap(([path, text, mode]) =>
      text === undefined ? [] : [embeddedFile(path, text, mode)],
    ),
  },
  systemd: { units: [{ name: agentUnitName, enabled: true, contents: agentUnit(agent) }] },
});

const passwdOf = ({ sshAuthorizedKeys = [] }: LiveAgent): Pick<Config, 'passwd'> =>
  sshAuthorizedKeys.length === 0
    ? {}
    : { passwd: { users: [{ name: 'core', sshAuthorizedKeys: [...new Set(sshAuthorizedKeys)] }] } };

const liveFiles = (agent: LiveAgent): readonly LiveFile[] => [
  ...agent.files,
  [livePaths.proxy, proxyVariables(agent), 0o600],
  [livePaths.pullSecret, agent.pullSecret, 0o600],
  [livePaths.trust, agent.trustBundle, 0o644],
];

/** A file for systemd's EnvironmentFile: podman hands these variables on, and pulls with them. */
function proxyVariables({ proxy = {} }: LiveAgent): string | undefined {
  const lines = Object.entries(proxy).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [`${name}=${quoted(value)}\n`],
  );
  return lines.length === 0 ? undefined : lines.join('');
}

/** Of an agent, its own: what podman fails with itself begins at 125. */
const finalExits = '2 3 7 8';

function agentUnit(agent: LiveAgent): string {
  const { pull, afterwards, trustBundle } = agent;
  const line = (words: readonly string[]): string => words.map(unitWord).join(' ');
  return [
    '[Unit]',
    'Description=Install this host',
    'Wants=network-online.target',
    'After=network-online.target multi-user.target',
    // A host that cannot be installed stays as it is, for somebody to look at.
    'StartLimitBurst=4',
    'StartLimitIntervalSec=1d',
    '',
    '[Service]',
    'Type=oneshot',
    'RemainAfterExit=yes',
    'TimeoutStartSec=infinity',
    ...(proxyVariables(agent) === undefined ? [] : [`EnvironmentFile=${livePaths.proxy}`]),
    ...(trustBundle === undefined ? [] : ['ExecStartPre=/usr/bin/update-ca-trust']),
    `ExecStartPre=${line(pull)}`,
    'ExecStartPre=-/usr/bin/podman rm --force --ignore assisted-installer',
    `ExecStart=${line(agentArgv(agent))}`,
    ...(afterwards === undefined ? [] : [`ExecStopPost=-${line(afterwards)}`]),
    'Restart=on-failure',
    'RestartSec=30s',
    `RestartPreventExitStatus=${finalExits}`,
    '',
    '[Install]',
    'WantedBy=multi-user.target',
    '',
  ].join('\n');
}

const agentArgv = ({ image, args, pullSecret }: LiveAgent): readonly string[] => [
  ...['/usr/bin/podman', 'run', '--rm', '--name', 'assisted-installer', '--privileged'],
  ...['--pid=host', '--net=host', '--log-driver=none', '-v', '/dev:/dev:rw'],
  ...(pullSecret === undefined ? [] : ['--authfile', livePaths.pullSecret]),
  ...[image, ...args],
];

/**
 * A word of a command in a unit: systemd reads quotes, specifiers and variables in it
 * (systemd.service, "Command lines").
 */
export const unitWord = (word: string): string => {
  const escaped = word.replaceAll('%', '%%').replaceAll('$', '$$$$');
  return /^[\w./:@%=,+-]+$/.test(escaped) ? escaped : quoted(escaped);
};

/** Between quotes as systemd reads them: control characters by their code. */
const quoted = (text: string): string =>
  `"${text.replaceAll(/["\\]/g, String.raw`\$&`).replaceAll(
    // oxlint-disable-next-line no-control-regex
    /[\u0000-\u001f\u007f]/g,
    (control) => String.raw`\x${control.charCodeAt(0).toString(16).padStart(2, '0')}`,
  )}"`;
