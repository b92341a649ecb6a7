/**
 * Our SMTP client alone: prebuilt messages through so many connections. The one part of the bench
 * that reaches into the server, since the client has no outside of its own.
 */
import { connect, type Socket } from 'node:net'
import { openSmtpSession, type SmtpSession } from '@postrider/mail'
import type { SmtpOrder } from './smtp.ts'
import { serveParent } from './worker.ts'

const timeoutMs = 60_000

async function send(order: SmtpOrder): Promise<{ elapsedMs: number }> {
  const sessions = await Promise.all(
    Array.from({ length: order.connections }, () => openTo(order.port)),
  )
  const message = Buffer.from(order.message)
  const startedAt = performance.now()
  let left = order.count
  const sendAll = async (session: SmtpSession): Promise<void> => {
    while (left > 0) {
      left -= 1
      const { from, to } = order
      const deadlineAt = performance.now() + timeoutMs
      const beforeFinalDot = async () => undefined
      const result = await session.send({
        ...{ from, to, message, smtpUtf8: false },
        ...{ deadlineAt, beforeFinalDot },
      })
      if (result.kind !== 'accepted') throw new Error(JSON.stringify(result))
    }
  }
  await Promise.all(sessions.map(sendAll))
  const elapsedMs = performance.now() - startedAt
  for (const session of sessions) session.close()
  return { elapsedMs }
}

async function openTo(port: number): Promise<SmtpSession> {
  const opened = await openSmtpSession({
    connect: () => dial(port),
    secureSocket: () => Promise.reject(new Error('no TLS here')),
    host: '127.0.0.1',
    port,
    secure: 'None',
    tlsVerify: true,
    ehloName: 'bench.test',
    timeoutMs,
  })
  if (!opened.ok) throw new Error(JSON.stringify(opened.failure))
  return opened.session
}

function dial(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(socket))
    socket.once('error', reject)
  })
}

serveParent({ send })
