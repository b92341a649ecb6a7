/** `npm run check`: every static check, all of them even when one fails, with one line at the end. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

const steps = [
  ['types', 'tsc', ['-p', 'tsconfig.json']],
  ['types of the dashboard', 'tsc', ['-p', 'packages/dashboard']],
  ['lint and format', 'biome', ['check', '--error-on-warnings']],
  ['dead code', 'knip', ['--no-progress', '--no-config-hints']],
  [
    'architecture, tidiness, generated docs',
    'vitest',
    ['run', '--project=unit', '--project=database', 'packages/server/test', 'scripts', 'release'],
  ],
  ['the description, by public tools', 'vitest', ['run', 'scripts/openapi-tools.slow.test.ts']],
]

const failed = steps.filter(([name, command, args]) => {
  console.log(`\n== ${name}: ${command} ${args.join(' ')}`)
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit' })
  if (error) console.error(error.message)
  return status !== 0
})

if (failed.length > 0) {
  console.error(`\nnpm run check failed: ${failed.map(([name]) => name).join(', ')}`)
  process.exitCode = 1
} else {
  console.log(`\nnpm run check passed: ${steps.map(([name]) => name).join(', ')}`)
}
