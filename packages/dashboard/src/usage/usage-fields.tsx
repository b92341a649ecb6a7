/** What a tenant uses of its quotas: a bar beside words and numbers, and the way to the emails that count. */
import { Link } from '@tanstack/react-router'
import { words as emailWords } from '../emails/words.ts'
import { Meter } from '../ui/meter.tsx'
import { useNow } from '../ui/now.ts'
import { Fields, Row } from '../ui/page.tsx'
import { StateMark } from '../ui/state-mark.tsx'
import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import {
  listsOf,
  nearnessTones,
  type UsageAndQuotas,
  type UsedQuota,
  usedOf,
  usedQuotas,
} from './usage.ts'
import classes from './usage-fields.module.css'
import { words } from './words.ts'

interface Shown {
  readonly tenantId: string
  readonly of: UsageAndQuotas
}

export function UsageFields({ tenantId, of }: Shown) {
  const text = useWords(words)
  const format = useFormat()
  const perSecond = of.quotas.emails_per_second
  return (
    <Fields
      entries={[
        ...usedQuotas.map(
          (name) =>
            [
              text.quotaNames[name],
              <UsageField key={name} tenantId={tenantId} of={of} name={name} />,
            ] as const,
        ),
        [
          text.quotaNames.emails_per_second,
          perSecond === null ? text.noQuota : text.atMost(format.integer(perSecond)),
        ],
      ]}
    />
  )
}

function UsageField({ tenantId, of, name }: Shown & { readonly name: UsedQuota }) {
  const text = useWords(words)
  const format = useFormat()
  const show = name === 'storage_bytes_max' ? format.bytes : format.integer
  const { used, max, left, share, nearness } = usedOf(name, of)
  if (max === null) return `${show(used)} (${text.noQuota})`
  const tone = nearnessTones[nearness]
  return (
    <>
      <Row>
        <span>{text.ofQuota(show(used), show(max), format.percent(share))}</span>
        {nearness !== 'far' && <StateMark tone={tone}>{text.nearness[nearness]}</StateMark>}
      </Row>
      <Meter label={text.quotaNames[name]} share={share} tone={tone} />
      {nearness !== 'far' && (
        <p className={classes.next}>
          {nearness === 'near' ? text.left[name](show(left)) : text.reached[name]}{' '}
          <Lists tenantId={tenantId} name={name} />
        </p>
      )}
    </>
  )
}

/** To the emails that count in the quota. */
function Lists({ tenantId, name }: { readonly tenantId: string; readonly name: UsedQuota }) {
  const text = useWords(words)
  const { statuses } = useWords(emailWords)
  const now = useNow()
  const lists = listsOf(name, now)
  return (
    <>
      {name === 'queued_max' && `${text.lists.queued_max} `}
      {lists.map(({ status, search }, at) => (
        <span key={status ?? 'all'}>
          {at > 0 && ', '}
          <Link to="/t/$tenantId/emails" params={{ tenantId }} search={search}>
            {status === undefined ? text.lists[name] : statuses[status]}
          </Link>
        </span>
      ))}
    </>
  )
}
