/** Health: what doctor checks, the worst first, each with what was found and what to do. */
import type { GetHealthAnswer, HealthCheck } from '@postrider/client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { RefreshCw } from 'lucide-react'
import { clientOf } from '../session/client.ts'
import { Answer } from '../ui/answers.tsx'
import { Banner } from '../ui/banner.tsx'
import { Button } from '../ui/controls.ts'
import { DataTable } from '../ui/data-table.tsx'
import { useKeys } from '../ui/keys.ts'
import { Card, Page, Row } from '../ui/page.tsx'
import { StateMark } from '../ui/state-mark.tsx'
import { Time } from '../ui/time.tsx'
import { useWords } from '../words/define-words.ts'
import { LinkedIds } from './linked-ids.tsx'
import { healthTones, worstFirst } from './states.ts'
import { words } from './words.ts'

const refreshMs = 30_000
/** Checks of what waits: the list of queues says more. */
const waits = new Set(['send queue', 'retries', 'webhooks', 'webhook backlog'])

export function HealthPage() {
  const text = useWords(words)
  const query = useQuery({
    queryKey: ['operator', 'health'],
    queryFn: ({ signal }) => clientOf().getHealth({ signal }),
    refetchInterval: refreshMs,
  })
  const again = () => void query.refetch()
  useKeys({ r: again })
  return (
    <Page
      title={text.health}
      lead={text.healthLead}
      actions={
        <Button
          variant="default"
          leftSection={<RefreshCw size={14} aria-hidden />}
          loading={query.isFetching}
          onClick={again}
        >
          {text.checkAgain}
        </Button>
      }
    >
      <Answer query={query}>{(answer) => <Checks health={answer.health} />}</Answer>
    </Page>
  )
}

function Checks({ health }: { readonly health: GetHealthAnswer['health'] }) {
  const text = useWords(words)
  const checks = worstFirst(health.checks)
  const wrong = checks.filter(({ state }) => state !== 'ok')
  const passed = checks.filter(({ state }) => state === 'ok')
  return (
    <>
      <Summary checks={checks} checkedAt={health.checked_at} />
      {wrong.map(({ check, state, detail, fix }) => (
        <Banner
          key={`${check} ${detail}`}
          tone={healthTones[state]}
          word={text.checkStates[state]}
          title={check}
          {...(waits.has(check) && { action: <Link to="/operator/queues">{text.toQueues}</Link> })}
        >
          <p>
            <LinkedIds>{detail}</LinkedIds>
          </p>
          {fix !== null && (
            <p>
              <strong>{text.remedy}:</strong> {fix}
            </p>
          )}
        </Banner>
      ))}
      {passed.length > 0 && (
        <Card title={text.passed} isFlush>
          <DataTable
            label={text.passed}
            rows={passed}
            rowKey={({ check, detail }) => `${check} ${detail}`}
            columns={[
              {
                key: 'check',
                head: text.check,
                width: 'minmax(120px, 220px)',
                cell: ({ check }) => (
                  <StateMark tone="good" isQuiet>
                    {check}
                  </StateMark>
                ),
                isTitle: true,
              },
              {
                key: 'found',
                head: text.found,
                cell: ({ detail }) => <LinkedIds>{detail}</LinkedIds>,
              },
            ]}
          />
        </Card>
      )}
    </>
  )
}

/** The answer in one line, before all evidence. */
function Summary(o: { readonly checks: readonly HealthCheck[]; readonly checkedAt: string }) {
  const text = useWords(words)
  const of = (state: HealthCheck['state']) =>
    o.checks.filter((check) => check.state === state).length
  const [failed, warned] = [of('failed'), of('warning')]
  return (
    <Row>
      {failed > 0 && <StateMark tone="bad">{text.failedChecks(failed)}</StateMark>}
      {warned > 0 && <StateMark tone="warn">{text.warnedChecks(warned)}</StateMark>}
      {failed + warned === 0 && (
        <>
          <StateMark tone="good">{text.allWell}</StateMark>
          <span>{text.allWellHelp(o.checks.length)}</span>
        </>
      )}
      <span>
        {text.checkedAt} <Time at={o.checkedAt} />
      </span>
    </Row>
  )
}
