/**
 * Hostile input through the doors of a running service for as long as it is told, round after round, each
 * from a seed of its own.
 *
 *   node e2e/bombs/soak-main.ts --seconds 60 --seed 1
 */
import { parseArgs } from 'node:util'
import { describeBlocked, driveDoors, TURN_CPU_MS_MAX } from './drive-doors.ts'
import { openService } from './open-service.ts'

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, seed: { type: 'string', default: '1' } },
})
const endMs = performance.now() + Number(values.seconds) * 1_000
const mayGoOn = () => performance.now() < endMs
/** Of each kind in a round. */
const COUNT = 3
const counts = { passed: 0, failed: 0 }

const { deps, close } = await openService()
try {
  for (let seed = Number(values.seed); mayGoOn(); seed += 1)
    await driveDoors(deps, {
      seed,
      count: COUNT,
      mayGoOn,
      onBlocked(blocked) {
        const isTooLong = blocked.longestMs > TURN_CPU_MS_MAX
        counts.passed += isTooLong ? blocked.inputs - 1 : blocked.inputs
        if (!isTooLong) return
        counts.failed += 1
        process.stdout.write(
          `FOUND ${describeBlocked(blocked)}\n  again: npm run test:soak -- --only doors --minutes 2 --seed ${seed}\n`,
        )
      },
    })
} catch (error) {
  counts.failed += 1
  process.stdout.write(`FOUND ${String(error).slice(0, 2_000)}\n`)
} finally {
  await close()
}
process.stdout.write(`${JSON.stringify(counts)}\n`)
process.exitCode = counts.failed === 0 && counts.passed > 0 ? 0 : 1
