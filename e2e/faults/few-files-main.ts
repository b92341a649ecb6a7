/** The service with at most 160 open files: a process raises its soft limit, so the hard one is set before it. */
const main = new URL('../../packages/server/src/main.ts', import.meta.url).pathname
const command = 'ulimit -n 160; exec "$0" "$1"'
process.execve?.('/bin/bash', ['bash', '-c', command, process.execPath, main])
