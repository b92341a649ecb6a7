import classes from './logo.module.css'

/** The name of the product with its mark. */
export function Logo() {
  return (
    <span className={classes.logo}>
      <svg viewBox="0 0 32 32" width="24" height="24" aria-hidden="true">
        <rect width="32" height="32" rx="8" fill="var(--accent)" />
        <path
          d="M7 11.5 16 18l9-6.5M7 10h18v12.5H7z"
          fill="none"
          stroke="var(--accent-ink)"
          strokeWidth="2.4"
          strokeLinejoin="round"
          strokeLinecap="round"
        />
      </svg>
      <span>Postrider</span>
    </span>
  )
}
