// Texts whose contrast with their ground is below 4.5 to 1 (WCAG 2.1, 1.4.3).
return (() => {
  const channels = (colour) => [...colour.match(/[\d.]+/g).map(Number), 1].slice(0, 4);
  const over = ([r, g, b, a], ground) => [r, g, b].map((value, at) => value * a + ground[at] * (1 - a));
  const ground = (element) => element
    ? over(channels(getComputedStyle(element).backgroundColor), ground(element.parentElement))
    : [255, 255, 255];
  const light = (colour) => colour.map((value) => value / 255)
    .map((value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
    .reduce((sum, value, at) => sum + value * [0.2126, 0.7152, 0.0722][at], 0);
  const ratio = (element) => {
    const under = ground(element);
    const [a, b] = [light(over(channels(getComputedStyle(element).color), under)), light(under)];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  };
  const texts = [...document.querySelectorAll("body *")].filter((each) =>
    each.checkVisibility({ opacityProperty: true, visibilityProperty: true }) &&
    [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim()));
  return texts.filter((each) => ratio(each) < 4.5)
    .map((each) => `${ratio(each).toFixed(2)} ${each.outerHTML.slice(0, 80)}`);
})();
