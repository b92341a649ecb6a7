/** What a container runtime asks: ends with 0 when this service is ready (docs/reference/running.md#readiness). */
'use strict'

const { POSTRIDER_HOST: host = '', POSTRIDER_PORT: port = '8080' } = process.env
const everywhere = ['', '0.0.0.0', '::'].includes(host)
const reachable = everywhere ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host

fetch(`http://${reachable}:${port || '8080'}/readyz`, { signal: AbortSignal.timeout(4_000) })
  .then(async (answer) => {
    process.stdout.write(`${await answer.text()}\n`)
    process.exitCode = answer.ok ? 0 : 1
  })
  .catch((error) => {
    process.stderr.write(`${error.cause?.message ?? error.message}\n`)
    process.exitCode = 1
  })
