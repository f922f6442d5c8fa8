import { Argument, Option } from 'commander';
import type { Environment } from '../../config/environment.ts';
import { flagRows, ownFlagRows } from '../../config/flag-table.ts';
import { flagName } from '../../config/go-flags.ts';
import { roleNames } from '../../model/role.ts';
import { commit, supportedReleases, version } from '../../model/version.ts';
import {
  commonExitCodes,
  type FilesCall,
  format,
  type HelpRow,
  inPod,
  managing,
  pageOutput,
  podEnvironment,
  ProgramCommand,
  proxyEnvironment,
} from '../command.ts';
import { addCapi } from '../capi/commands.ts';
import { addLayer } from '../layer/commands.ts';
import { exitCodeOf, failureText, print, printError, printJson } from '../messages.ts';

const repeatable = (flags: string, summary: string): Option =>
  new Option(flags, `${summary}; repeatable`).argParser(
    (value, earlier: readonly string[] | undefined) => [...(earlier ?? []), value],
  );

const installEnvironment = {
  PULL_SECRET_TOKEN: 'token of the service',
  'AWS_ACCESS_KEY_ID …': 'credentials of an object store',
  BOOTWRIGHT_SECTION_KEY: 'any setting, BOOTWRIGHT_IMAGE_URL',
  'S3_URL BUCKET CLUSTER_ID DEVICE': 'Ignition from an object store, no service',
  ...proxyEnvironment,
} as const;

const installEnds = {
  2: 'an install would be refused for its input, or the command line is wrong',
};

/** Adds the flags of an install for the page of a command. Go's rules parse them, not commander. */
function withFlags(command: ProgramCommand): ProgramCommand {
  const isLong = ([name]: readonly [string, unknown]): boolean => name.length > 1;
  const row = ([name, { placeholder, summary }]: readonly [
    string,
    { readonly placeholder?: string; readonly summary: string },
  ]): HelpRow => [
    `${flagName(name)}${placeholder === undefined ? '' : ` ${placeholder}`}`,
    summary,
  ];
  const known = Object.entries(flagRows).filter(isLong);
  return command
    .section(
      'Flags (-x is the same as --x; a value may also follow =)',
      known.filter(([, { era }]) => era === undefined).map(row),
    )
    .section('Flags of Bootwright', [
      ...Object.entries(ownFlagRows).filter(isLong).map(row),
      ['--SECTION.KEY VALUE', 'any setting, --image.url for example'],
    ])
    .section(
      'Flags that older services send',
      known.filter(([, { era }]) => era !== undefined).map(row),
    )
    .section('Settings, the later source wins', [
      ['/etc/bootwright/config.yaml', 'the default file'],
      ['--config FILE', 'files in their order'],
      ['the environment', 'variables as below'],
      ['flags', 'as above'],
    ])
    .reads(installEnvironment);
}

function addInstall(program: ProgramCommand): void {
  const install = program.add(
    'install',
    'install this host; the default where only flags are given',
  );
  withFlags(install)
    .usage('[flags]\n       bootwright -r ROLE [flags]')
    .example(
      'bootwright -r worker --url https://service:6008 --cluster-id ID --host-id ID --boot-device /dev/sda',
      'install as the inventory service asks for it',
    )
    .example(
      'bootwright install --config host.yaml',
      'install from a file of settings',
    ).takesInstallFlags = true;
  program
    .add(
      'plan',
      'print what an install would do',
      'Changes nothing. Errors that would stop the install are on standard error.',
    )
    .addOption(format('text', 'json'))
    .installFlags()
    .ends(installEnds)
    .example('bootwright plan -r worker --boot-device /dev/sda', 'read what would happen')
    .runs(async () => (await import('../plan.ts')).runPlan);
}

function addConfig(program: ProgramCommand): void {
  const config = program.add('config', 'create, show, validate or describe the configuration');
  config
    .add(
      'init',
      'print a configuration file of a role, every setting as a comment',
      'Asks no questions. The top of the file lists the settings that an install still needs.',
    )
    .addArgument(new Argument('<ROLE>', 'role of the host').choices(roleNames))
    .example('bootwright config init worker > host.yaml', 'create a file')
    .runs(async () => (await import('../config.ts')).runConfigInit);
  config
    .add('show', 'print every setting with its origin, secrets masked')
    .addOption(format('text', 'json'))
    .installFlags()
    .example('bootwright config show --config host.yaml', 'see which value wins, and why')
    .runs(async () => (await import('../config.ts')).runConfigShow);
  config
    .add('validate', 'list every mistake in the configuration')
    .addOption(format('text', 'json'))
    .installFlags()
    .ends(installEnds)
    .example('bootwright config validate --config host.yaml', 'all findings at once')
    .runs(async () => (await import('../config.ts')).runConfigValidate);
  config
    .add('schema', 'print the JSON Schema of a configuration file')
    .example('bootwright config schema > bootwright.schema.json', 'for an editor')
    .runs(async () => (await import('../config.ts')).runConfigSchema);
}

function addLint(program: ProgramCommand): void {
  program
    .add(
      'lint',
      'check MachineConfigs, MachineOSConfigs and Ignition',
      'Finds errors for which Ignition, the Machine Config Operator or the Machine Config Daemon would refuse a file.',
      'In a folder, other objects are skipped.',
    )
    .argument('<FILE|DIR...>', 'files, or folders with files')
    .addOption(format('text', 'json'))
    .ends({ 2: 'a finding is an error, or the command line is wrong' })
    .example('bootwright lint cluster/openshift', 'check the manifests of an installation')
    .runs(async () => (await import('../lint.ts')).runLint);
}

function addVersion(program: ProgramCommand): void {
  program
    .add(
      'version',
      'print the version, its commit, Node, and the releases of OpenShift',
      '`bootwright --version`, -v or -V prints the version alone.',
    )
    .addOption(format('text', 'json'))
    .example('bootwright version --format json', 'for a script')
    .runs(() => Promise.resolve(runVersion));
}

/** Prints the versions that a bug report needs. */
function runVersion({ format: form }: FilesCall): number {
  const { node } = process.versions;
  const openshift = supportedReleases;
  // A field is never removed within one version.
  if (form === 'json') printJson({ v: 1, version, commit, node, openshift });
  else
    print(
      [
        `bootwright ${version}`,
        `commit     ${commit === '' ? 'unknown' : commit}`,
        `Node       ${node}`,
        `OpenShift  ${openshift.first} to ${openshift.last}\n`,
      ].join('\n'),
    );
  return 0;
}

/** Adds the command that makes the medium from which a host installs itself. */
function addMedia(program: ProgramCommand): void {
  program
    .add(
      'media',
      'make a live medium that installs one host',
      'Adds the settings, the files that they name, keyfiles and the unit of the agent to a live ISO or initramfs of CoreOS, with coreos-installer. A host that boots it is installed: everything on its install disk is lost.',
      'Reads settings from the files only. The output marks the files that are secret.',
    )
    .addOption(
      repeatable('--config <FILE>', 'settings of the host; required').makeOptionMandatory(),
    )
    .option('--iso <FILE>', 'live ISO of CoreOS')
    .option('--pxe <DIR>', 'in place of --iso: directory with the live initramfs')
    .needs('--out <FILE>', 'the ISO or the initramfs to write; a new file')
    .option('--image <IMAGE>', 'image of the agent, which the host pulls; default: images.self')
    .option(
      '--authfile <FILE>',
      'registry credentials to pull it with, in the form of a pull secret',
    )
    .option('--ssh-key <FILE>', 'public key for the user core of the live system')
    .addOption(format('text', 'json'))
    .example(
      'bootwright media --config host.yaml --iso live.iso --out host.iso --image registry.example.com/bootwright:latest',
      'make an ISO',
    )
    .example(
      'bootwright media --config host.yaml --pxe /srv/pxe --out /srv/pxe/52-54-00-a0-b1-c2.img --image registry.example.com/bootwright:latest',
      'make an initramfs to boot from the network',
    )
    .runs(async () => (await import('../media.ts')).runMedia);
}

/** Adds the command that erases a disk for the next owner of the host. */
function addWipe(program: ProgramCommand): void {
  program
    .add(
      'wipe',
      'erase a disk of this host for its next owner',
      'Everything on the disk is lost. The command finds, locks and checks the disk as an install does, and removes LVM and RAID from it. It refuses a disk that is in use or holds the running system. Before each step that erases it identifies the disk again.',
      'It uses NVMe Sanitize, or NVMe Format, where no other namespace is affected, and secure discard on other disks that support it. Otherwise it overwrites each block with zeros, which does not reach spare blocks. The output names the method.',
      'Without --confirm it erases nothing, prints the disk and the value for --confirm, and exits with 2. A stopped wipe can be run again.',
    )
    .option('--disk <DEVICE>', 'disk to erase; default: the install disk of the settings')
    .option(
      '--confirm <SERIAL>',
      'serial number of the disk; without a unique one, its WWN or path',
    )
    .addOption(format('text', 'json'))
    .installFlags()
    .ends({ 4: 'the disk is in use, or is not erased' })
    .example('bootwright wipe --disk /dev/disk/by-id/nvme-X_S64', 'see what would be erased')
    .example(
      'bootwright wipe --disk /dev/disk/by-id/nvme-X_S64 --confirm S64',
      'erase it; takes hours on a hard disk',
    )
    .runs(async () => (await import('../wipe.ts')).runWipe);
}

function addObservers(program: ProgramCommand): void {
  program
    .add(
      'doctor',
      'check this host before an install',
      'Checks programs, memory, clock, firmware, disk, image, Ignition, names and the service. Changes nothing.',
    )
    .addOption(format('text', 'json'))
    .installFlags()
    .example('bootwright doctor --config host.yaml', 'on the live host, before the install')
    .runs(async () => (await import('../doctor/doctor.ts')).runDoctor);
  program
    .add(
      'status',
      'show the progress of the run on this host',
      'Shows the running steps, their waits, the remaining time and the effect of a restart, also after the agent has stopped.',
    )
    .addOption(format('text', 'json'))
    .option('--watch', 'print a line for each change until the run ends')
    .option('--steps', 'print each step of the last run, with its times, from the journal')
    .installFlags()
    .ends({ 8: 'with --watch: the run failed or was stopped, or its process is gone' })
    .example('bootwright status', 'while the agent runs')
    .example('bootwright status --watch', 'wait until the host is installed')
    .example('bootwright status --steps --host.root /mnt', 'of a mounted system')
    .runs(async () => (await import('../status.ts')).runStatus);
}

/** Adds the command that serves the page of an installation. */
function addWatch(program: ProgramCommand): void {
  program
    .add(
      'watch',
      'serve a page of an installation',
      'The page shows the stages and the waits of each host, the operators, a log with a filter, and a time line. It is read-only.',
      'Runs until Ctrl-C, also while the service does not answer or refuses requests, and exits with 0. It sends no requests after the end of the installation. With --until installed it exits when the installation ends, and the exit code is the outcome. A host of a Cluster may retry after a failure: only --timeout ends that wait.',
    )
    .argument(
      '[URL...]',
      'inventory service; a URL with /api/assisted-install/v2/clusters/ID needs no --cluster-id. For hosts without a service: http://HOST:PORT/status of each agent that runs with --status',
    )
    .option(
      '--listen <ADDRESS:PORT>',
      'listen address of the page; port 0 takes a free port',
      '127.0.0.1:0',
    )
    .addOption(
      new Option('--until <STATE>', 'print events, and exit when the installation ends').choices([
        'installed',
      ]),
    )
    .option('--timeout <DURATION>', 'with --until: time limit, such as 90m')
    .option('--page-file <FILE>', 'write the page, with its time line, to this file at the end')
    .option(
      '--cluster <NAMESPACE/NAME>',
      'follow a Cluster of Cluster API in place of a service, with --kubeconfig',
    )
    .option(
      '--kubeconfig <FILE>',
      'with --cluster: kubeconfig of the management cluster; otherwise, with --until: kubeconfig of the installed cluster, to wait for its ClusterVersion and operators too',
    )
    .installFlags()
    .reads({ PULL_SECRET_TOKEN: 'token of the service', ...proxyEnvironment })
    .example(
      'bootwright watch https://service:6008 --cluster-id ID --cacert ca.pem',
      'follow an installation in a browser',
    )
    .ends({
      7: 'with --until: the timeout expired',
      8: 'with --until: the installation failed or was cancelled',
    })
    .example(
      'bootwright watch https://service:6008 --cluster-id ID --until installed --timeout 90m',
      'wait for the end in a script',
    )
    .example(
      'bootwright watch http://m1:9110/status http://m2:9110/status --until installed --timeout 90m',
      'wait for hosts without a service',
    )
    .example(
      'bootwright watch http://m1:9110/status --until installed --kubeconfig auth/kubeconfig',
      'wait for the operators of the cluster too',
    )
    .example(
      'bootwright watch https://service:6008 --cluster-id ID --page-file run.html',
      'keep the time line',
    )
    .example(
      'bootwright watch --kubeconfig management.kubeconfig --cluster demo/demo',
      'follow a Cluster of Cluster API',
    )
    .runs(async () => (await import('../watch.ts')).runWatch);
}

/** Adds the commands that read the records of an earlier run. */
function addRecords(program: ProgramCommand): void {
  const logs = program.add('logs', 'collect and read the logs of an install');
  logs
    .add(
      'collect',
      'collect the logs of this host',
      'Writes the same logs as a failed install, for a host that hangs or whose agent has stopped. It can run while an agent runs, takes at most two minutes, and writes only its own file. Secrets are masked.',
    )
    .option('--output <FILE>', 'file to write, - for standard output; default: beside the journal')
    .installFlags()
    .example('bootwright logs collect', 'on a host that hangs')
    .runs(async () => (await import('../logs/collect-host.ts')).runLogsCollect);
  logs
    .add(
      'read',
      'print what failed, from bundles of logs',
      'A failed install prints the path of its bundle (logs: FILE), and so does "bootwright logs collect". In a folder, reads all bundles and logs below it. Works on any machine, and unpacks no file.',
      'Also reads the log of a stopped agent, and controller_logs.tar.gz from the service.',
    )
    .argument('<FILE...>', 'bundles (bundle-….tar.gz), logs, or folders with them')
    .addOption(format('text', 'json'))
    .example(
      'bootwright logs read /opt/install-dir/bundle-20261124T124100Z.tar.gz',
      'see what failed',
    )
    .runs(async () => (await import('../logs/read.ts')).runLogsRead);
}

function addController(program: ProgramCommand): void {
  inPod(
    program.add(
      'controller',
      'in the cluster: complete its installation',
      'Runs in a Job. It also starts without a command if the variables of assisted-installer-controller are set.',
    ),
  )
    .reads({
      INVENTORY_URL: 'inventory service',
      CLUSTER_ID: 'id of the cluster there',
      OPENSHIFT_VERSION: 'version of the cluster',
      ...podEnvironment,
    })
    .runs(async () => (await import('../controller.ts')).runController);
}

const onHost = (command: ProgramCommand): ProgramCommand =>
  command
    .addOption(format('text', 'json'))
    .option('--verbose', 'log every command')
    .reads(proxyEnvironment);

const reboot = ['--reboot', 'reboot the host at the end if a change needs it'] as const;

function addNode(node: ProgramCommand): void {
  onHost(node.add('apply', 'stage an image for the next boot'))
    .argument('<IMAGE>', 'HOST/PATH:TAG or HOST/PATH@sha256:DIGEST')
    .option('--record', 'record the image for the Machine Config Daemon')
    .option(...reboot)
    .addOption(repeatable('--append-karg <ARGUMENT>', 'kernel argument to append'))
    .addOption(repeatable('--delete-karg <ARGUMENT>', 'kernel argument to delete'))
    .example(
      'bootwright node apply registry.example.com/os@sha256:… --reboot',
      'boot into an image',
    )
    .runs(async () => (await import('../node.ts')).runNodeApply);
  onHost(node.add('rollback', 'drop the staged image, or return to the previous one'))
    .option(...reboot)
    .example('bootwright node rollback --reboot', 'return to the previous image')
    .runs(async () => (await import('../node.ts')).runNodeRollback);
  managing(
    node.add(
      'agent',
      'in the cluster: apply the config and image of its pool to this node',
      'Runs in a DaemonSet until a signal stops it; the next run continues.',
    ),
  )
    .reads({ NODE_NAME: 'name of the node; from spec.nodeName', ...podEnvironment })
    .runs(async () => (await import('../node-agent.ts')).runNodeAgent);
  managing(
    node.add(
      'controller',
      'in the cluster: roll out to the nodes of pools',
      'Runs in a Deployment until a signal stops it; the next run continues.',
    ),
  )
    .reads(podEnvironment)
    .runs(async () => (await import('../node-controller.ts')).runNodeController);
}

function addHelp(program: ProgramCommand): void {
  program
    .add('help', 'print the help of the program or of a command')
    .helpOption(false)
    .allowUnknownOption()
    .argument('[COMMAND...]', 'the command, down to its subcommand')
    .example('bootwright help layer build', 'the same as bootwright layer build --help')
    .action((words: readonly string[]) => {
      program.find(words.filter((word) => !word.startsWith('-'))).outputHelp();
    });
}

/**
 * The program with all its commands. Add a new command here.
 * @param first the first word of a line; subcommands that it cannot name are not built, as they
 * take a third of the start
 */
export function bootwright(out = print, err = printError, first = 'help'): ProgramCommand {
  const needs = (name: string): boolean => first === 'help' || first === name;
  const program = new ProgramCommand('bootwright')
    .description('installs this bare-metal host as an OpenShift node')
    .usage('-r ROLE [flags]\n       bootwright COMMAND [flags]')
    .helpOption('-h, --help', 'print this help')
    .helpCommand(false)
    .enablePositionalOptions()
    .showSuggestionAfterError(false)
    .exitOverride()
    .configureOutput(pageOutput(out, err));
  withFlags(program).ends(commonExitCodes);
  addInstall(program);
  addConfig(program);
  addMedia(program);
  addWipe(program);
  addObservers(program);
  addWatch(program);
  addRecords(program);
  addController(program);
  addLint(program);
  const layer = program.add('layer', 'build and follow OS images of pools');
  if (needs('layer')) addLayer(layer);
  const node = program.add('node', 'switch this node to an OS image, or back');
  if (needs('node')) addNode(node);
  const capi = program.add('capi', 'install by Cluster API');
  if (needs('capi')) addCapi(capi);
  addVersion(program);
  addHelp(program);
  return program;
}

/** A line that names a command or asks for help. */
export interface CommandCall {
  readonly environment: Environment;
  readonly argv: readonly string[];
  readonly print: (text: string) => void;
  readonly printError: (text: string) => void;
}

/**
 * Runs a command line that is not an install. A failure ends in its message and the exit code of
 * its kind.
 */
export async function runCommand(
  call: CommandCall,
  program = bootwright(call.print, call.printError, call.argv[0]),
): Promise<number> {
  try {
    return await program.run(call.argv, call.environment);
  } catch (thrown) {
    call.printError(failureText(thrown));
    return exitCodeOf(thrown);
  }
}
