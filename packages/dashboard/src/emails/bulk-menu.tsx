/** Changes all that matches: what would be is counted, then done, call after call, until it is stopped. */
import { useMutation, useQuery } from '@tanstack/react-query'
import { ChevronDown } from 'lucide-react'
import { useRef, useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import { useTenant } from '../session/use-tenant.ts'
import { words as sessionWords } from '../session/words.ts'
import { Failure } from '../ui/answers.tsx'
import { Banner } from '../ui/banner.tsx'
import { Button, Menu, Select } from '../ui/controls.ts'
import { Dialog, DialogEnd } from '../ui/dialog.tsx'
import { Row } from '../ui/page.tsx'
import { Progress } from '../ui/progress.tsx'
import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import classes from './emails.module.css'
import { type BulkAction, type EmailsSearch, problemOfBulk, toBulkFilter } from './emails-search.ts'
import { type BulkCount, type BulkPage, runBulk } from './run-bulk.ts'
import type { Mailers } from './use-mailers.ts'
import { words } from './words.ts'

interface BulkOptions {
  readonly search: EmailsSearch
  readonly now: Date
  readonly mailers: Mailers
}

const actions = ['retry', 'rescue', 'cancel'] as const
const operations = { retry: 'retryEmails', cancel: 'cancelEmails', rescue: 'rescueEmails' } as const

export function BulkMenu(o: BulkOptions) {
  const text = useWords(words)
  const mayText = useWords(sessionWords)
  const { may, isLooking } = useTenant()
  const [action, setAction] = useState<BulkAction>()
  function problemOf(one: BulkAction): string | undefined {
    if (!may(operations[one])) return isLooking ? mayText.actFirst : mayText.notForRole
    const problem = problemOfBulk(one, o.search)
    if (problem === undefined) return undefined
    return problem === 'status' ? text.bulkStatus : text.bulkDelivered
  }
  const notes = { retry: text.retryHelp, cancel: text.cancelHelp, rescue: text.rescueHelp }
  return (
    <>
      <Menu width={290}>
        <Menu.Target>
          <Button variant="default" rightSection={<ChevronDown size={14} aria-hidden />}>
            {text.changeMany}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {actions.map((one) => {
            const problem = problemOf(one)
            return (
              <Menu.Item
                key={one}
                data-operation={operations[one]}
                {...(problem !== undefined && { 'aria-disabled': true, 'data-disabled': true })}
                onClick={() => problem === undefined && setAction(one)}
              >
                {text[one]}
                <span className={classes.menuNote}>{problem ?? notes[one]}</span>
              </Menu.Item>
            )
          })}
        </Menu.Dropdown>
      </Menu>
      {action !== undefined && (
        <BulkDialog {...o} action={action} close={() => setAction(undefined)} />
      )}
    </>
  )
}

interface DialogOptions extends BulkOptions {
  readonly action: BulkAction
  readonly close: () => void
}

function BulkDialog(o: DialogOptions) {
  const text = useWords(words)
  const format = useFormat()
  const bulk = useBulk(o)
  const { count, run } = bulk
  const all = count.data?.matched ?? 0
  const number = format.integer(all)
  const leave = () => {
    if (run.isPending) bulk.stop()
    else o.close()
  }
  return (
    <Dialog title={text.bulkTitle[o.action]} isOpen close={leave}>
      <form
        className={classes.form}
        onSubmit={(event) => {
          event.preventDefault()
          if (all > 0 && run.isIdle) run.mutate()
        }}
      >
        {count.error ? (
          <Failure error={count.error} retry={() => void count.refetch()} />
        ) : count.isPending ? (
          <Progress label={text.counting} value={0} max={undefined}>
            {`${text.counting}: ${format.integer(bulk.counted)}`}
          </Progress>
        ) : run.isSuccess ? (
          <>
            <p className={classes.count}>
              {text.bulkDone[o.action](format.integer(run.data.changed), number)}
            </p>
            {!run.data.isWhole ? (
              <p>{text.bulkStopped}</p>
            ) : (
              run.data.changed < run.data.matched && <p>{text.bulkFewer}</p>
            )}
          </>
        ) : run.isPending ? (
          <Progress label={text.bulkTitle[o.action]} value={bulk.done} max={all}>
            {text.bulkRunning(format.integer(bulk.done), number)}
          </Progress>
        ) : all === 0 ? (
          <p>{text.bulkNone[o.action]}</p>
        ) : (
          <>
            <p className={classes.count}>{text.counted(all, number)}</p>
            <p>{text.bulkMeans[o.action]}</p>
            {o.action === 'rescue' && (
              <RescueFields mailers={o.mailers} bulk={bulk} uncertain={count.data.uncertain} />
            )}
          </>
        )}
        {run.error !== null && <Failure what="change" error={run.error} />}
        <Buttons action={o.action} close={o.close} bulk={bulk} all={all} />
      </form>
    </Dialog>
  )
}

/** Counts what matches when the dialog opens. `run` changes it. */
function useBulk({ action, search, now }: DialogOptions) {
  const { client, tenantId } = useTenant()
  const [counted, setCounted] = useState<BulkCount>()
  const [done, setDone] = useState<BulkCount>()
  const [mailerId, setMailerId] = useState('')
  const [isStopping, setStopping] = useState(false)
  const isStopped = useRef(false)

  async function call(isDry: boolean, pageToken: string | undefined): Promise<BulkPage> {
    const filter = toBulkFilter(search, now)
    const body = { dry_run: isDry, ...(pageToken !== undefined && { pageToken }) }
    switch (action) {
      case 'retry':
        return await client.retryEmails({ ...body, filter: filter as never })
      case 'cancel':
        return await client.cancelEmails({ ...body, filter: filter as never })
      default: {
        const by = mailerId === '' ? {} : { mailer_id: mailerId }
        const answer = await client.rescueEmails({ ...body, ...by, filter: filter as never })
        return { ...answer, changed: answer.rescued }
      }
    }
  }

  const count = useQuery({
    queryKey: [tenantId, 'bulk', action, search, now],
    gcTime: 0,
    refetchOnWindowFocus: false,
    queryFn: ({ signal }) =>
      runBulk({
        call: (token) => call(true, token),
        onProgress: setCounted,
        isStopped: () => signal.aborted,
      }),
  })
  const run = useMutation({
    mutationFn: () =>
      runBulk({
        call: (token) => call(false, token),
        onProgress: setDone,
        isStopped: () => isStopped.current,
      }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: [tenantId, 'emails'] }),
  })
  function stop(): void {
    isStopped.current = true
    setStopping(true)
  }
  return {
    ...{ count, run, stop, isStopping, mailerId, setMailerId },
    counted: counted?.matched ?? 0,
    done: done?.matched ?? 0,
  }
}

type Bulk = ReturnType<typeof useBulk>

function RescueFields({
  mailers,
  bulk,
  uncertain,
}: {
  readonly mailers: Mailers
  readonly bulk: Bulk
  readonly uncertain: number
}) {
  const text = useWords(words)
  const format = useFormat()
  return (
    <>
      <Select
        label={text.sendBy}
        data={[
          { value: '', label: text.sameMailer },
          ...mailers.sending.map(({ mailer_id, name }) => ({ value: mailer_id, label: name })),
        ]}
        value={bulk.mailerId}
        onChange={(value) => bulk.setMailerId(value ?? '')}
      />
      {uncertain > 0 && (
        <Banner tone="warn" word={text.uncertainHead} title="">
          {text.uncertainMany(uncertain, format.integer(uncertain))}
        </Banner>
      )}
    </>
  )
}

function Buttons({
  action,
  close,
  bulk: { run, isStopping, stop },
  all,
}: {
  readonly action: BulkAction
  readonly close: () => void
  readonly bulk: Bulk
  readonly all: number
}) {
  const text = useWords(words)
  const format = useFormat()
  if (run.isIdle && all > 0)
    return (
      <DialogEnd
        confirm={text.bulkDo[action](format.integer(all))}
        isDangerous={action === 'cancel'}
        close={close}
      />
    )
  return (
    <Row>
      {run.isPending ? (
        <Button variant="default" disabled={isStopping} onClick={stop}>
          {isStopping ? text.stopping : text.stop}
        </Button>
      ) : (
        <Button variant="default" onClick={close}>
          {text.close}
        </Button>
      )}
    </Row>
  )
}
