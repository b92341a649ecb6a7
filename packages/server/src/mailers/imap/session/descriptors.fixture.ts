/**
 * A process without free file descriptors, whose egress has looked a host up before they ran out: logs in at
 * a mailbox, frees them and logs in again. Prints what came of it. Its argument is the port of an IMAP
 * server on 127.0.0.1.
 */
import { closeSync, openSync } from 'node:fs'
import { openMailbox } from './open-mailbox.ts'

const port = Number(process.argv[2])
let noted = 0

async function logIn(): Promise<unknown> {
  const opened = await openMailbox(
    {
      egress: { resolve: async () => [{ address: '127.0.0.1', family: 4 }] },
      descriptors: {
        ranOut() {
          noted += 1
          return true
        },
      },
    },
    {
      host: 'imap.example.com',
      port,
      secure: 'None',
      tlsVerify: true,
      username: 'ada',
      password: 'right',
    },
    { timeoutMs: 5_000 },
  )
  if (!opened.ok) return opened.failure.systemCode
  await opened.session.close()
  return 'opened'
}

// What is loaded when it is first needed has been loaded.
const before = await logIn()
const taken: number[] = []
try {
  for (;;) taken.push(openSync('/dev/null', 'r'))
} catch {
  // None is left.
}
const without = await logIn()
for (const descriptor of taken) closeSync(descriptor)
const after = await logIn()
process.stdout.write(JSON.stringify({ before, without, after, noted }))
