const [, , command] = process.argv;

/** The variable that the job of the controller always sets; the job names no command. */
const variable = /^(?:MYAPP_CONTROLLERCONFIG_)?OPENSHIFT_VERSION$/;

const isController =
  command === 'controller' ||
  (command === undefined && Object.keys(process.env).some((name) => variable.test(name)));

/**
 * A controller mostly waits. So what V8 would compile is interpreted: the compilers' own code takes
 * megabytes once one of them has run.
 */
const flags = [
  ...['--max-semi-space-size=1', '--optimize-for-size'],
  ...['--no-sparkplug', '--no-maglev', '--no-opt', '--no-regexp-optimization'],
];

// Set from within they would come too late, as Node has had its own code compiled; and the first
// line of the program may not be longer. It becomes the same process once more, 40 ms later.
if (isController && !process.execArgv.includes('--optimize-for-size')) {
  process.execve?.(process.execPath, [process.argv0, ...flags, ...process.argv.slice(1)]);
}
