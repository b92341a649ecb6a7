/** What the record shows of recipients with data of their own. */
import { expect, it } from 'vitest'
import { OWN_ARGS, order, SHARED_ARGS, useOwnData } from '../../test/own-data.ts'
import { useSending } from '../../test/sender.ts'
import { addMailer } from '../../test/sending.ts'
import { getEmail } from './get-email.ts'
import { listLogs } from './list-logs.ts'

const world = useSending()
const { accept } = useOwnData(world)

it('the trace shows the subject and custom_args of each recipient that has its own', async () => {
  await addMailer(world.db)
  const refId = await accept(order)
  const { recipients, custom_args: shared } = await getEmail(world, 'tn_a', refId, {})
  expect(shared).toEqual(SHARED_ARGS)
  expect(recipients.map(({ subject, custom_args }) => ({ subject, custom_args }))).toEqual([
    { subject: 'Order 1 of Tea', custom_args: OWN_ARGS },
    { subject: 'Order 2 of Tea', custom_args: undefined },
    { subject: undefined, custom_args: undefined },
    { subject: undefined, custom_args: undefined },
  ])
})

it('logs show the subject that each recipient got', async () => {
  await addMailer(world.db)
  const refId = await accept(order)
  const { logs } = await listLogs({ db: world.db }, 'tn_a', { refId })
  expect(new Map(logs.map(({ email, subject }) => [email, subject]))).toEqual(
    new Map([
      ['ada@example.com', 'Order 1 of Tea'],
      ['bob@example.com', 'Order 2 of Tea'],
      ['cy@example.com', 'Order of Tea'],
      ['dee@example.com', 'Order of Tea'],
    ]),
  )
})
