/**
 * The least that the protocol needs, as the measure of a client: two writes of bytes that were made
 * before, answers counted by their line ends and not looked at, nothing checked, no deadline.
 */
import { connect } from 'node:net'
import type { SmtpOrder } from './smtp.ts'
import { serveParent } from './worker.ts'

const LF = 0x0a

async function send(order: SmtpOrder): Promise<{ elapsedMs: number }> {
  const envelope = `MAIL FROM:<${order.from}>\r\nRCPT TO:<${order.to}>\r\nDATA\r\n`
  const body = Buffer.from(`${order.message}.\r\n`)
  let left = order.count
  const sendAll = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect({ port: order.port, host: '127.0.0.1', noDelay: true })
      socket.once('error', reject)
      // The greeting's line; the answer to HELO is one too.
      let lines = 2
      let isEnvelopeOut = false
      socket.write('HELO bench.test\r\n')
      socket.on('data', (chunk) => {
        for (const byte of chunk) if (byte === LF) lines -= 1
        if (lines > 0) return
        isEnvelopeOut = !isEnvelopeOut
        if (!isEnvelopeOut) {
          lines = 1
          socket.write(body)
        } else if (left > 0) {
          left -= 1
          lines = 3
          socket.write(envelope)
        } else {
          socket.destroy()
          resolve()
        }
      })
    })
  const startedAt = performance.now()
  await Promise.all(Array.from({ length: order.connections }, sendAll))
  return { elapsedMs: performance.now() - startedAt }
}

serveParent({ send })
