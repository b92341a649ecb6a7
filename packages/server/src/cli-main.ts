/** The operator's command line as a process (cli.ts). */
import { runCli } from './cli.ts'
import { readEnv } from './config.ts'

process.exitCode = await runCli(process.argv.slice(2), {
  env: readEnv(),
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
})
