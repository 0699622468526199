// Sets the theme before the first paint. It is not a module, because modules run after the paint.
{
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    document.documentElement.dataset.theme = localStorage.getItem("varve.theme") || (system.matches ? "dark" : "light");
    dispatchEvent(new Event("varve-theme"));
  };
  addEventListener("varve-choice", apply);
  system.addEventListener("change", apply);
  apply();
}
